"""Measures what a sweep costs beside its simulations.

    python python/benches/sweep.py                # the overhead of each engine, with one worker
    python python/benches/sweep.py --workers 2    # throughput with one and two workers
    python python/benches/sweep.py --client       # how many workers this process can serve

Runs are of one second on a slow link, so that they are short. dask is left out if it is not installed, and its
scheduler is in this process.
"""

import argparse
import concurrent.futures
import contextlib
import heapq
import queue
import resource
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fairwire as fw
from fairwire import _sweep

DUMBBELL = Path(__file__).parents[2] / "scenarios" / "dumbbell.toml"
SLOW = {"topology.bottleneck.rate": "100 kbit/s"}


@contextlib.contextmanager
def dask(workers: int) -> Iterator[Any]:
    import distributed

    dask: Any = distributed  # It has no types.
    local = dask.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
    with local as cluster, dask.Client(cluster) as client:
        yield client


def pool(workers: int) -> concurrent.futures.Executor:
    return concurrent.futures.ProcessPoolExecutor(workers)


def engines() -> dict[str, Callable[[int], Any]]:
    try:
        import distributed  # noqa: F401
    except ImportError:
        return {"ProcessPoolExecutor": pool}
    return {"ProcessPoolExecutor": pool, "dask": dask}


def measure(work: Callable[[], int], wanted: int) -> tuple[float, float]:
    """Returns the seconds that it takes, and those of this process on a processor."""
    begin, busy = time.perf_counter(), processor()
    assert work() == wanted
    return time.perf_counter() - begin, processor() - busy


def processor() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def sweep(arguments: dict[str, Any], executor: Any = None) -> int:
    """Returns the number of runs that were done."""
    with tempfile.TemporaryDirectory() as store:
        jobs = 1 if executor is None else None
        return fw.sweep(DUMBBELL, store=store, executor=executor, jobs=jobs, **arguments).done


def overhead(arguments: dict[str, Any], runs: int) -> None:
    """Prints a table of engines with one worker."""
    print(f"{'':38}{'seconds':>9}{'ms a run':>10}{'more than fw.run':>18}{'this process':>14}")

    def row(name: str, measured: tuple[float, float], base: float) -> None:
        seconds, busy = measured
        print(
            f"{name:38}{seconds:9.2f}{seconds / runs * 1e3:10.3f}{(seconds - base) / runs * 1e3:15.3f} ms"
            f"{busy / runs * 1e3:11.3f} ms",
            flush=True,
        )

    ran = measure(lambda: len(fw.run(DUMBBELL, jobs=1, **arguments)), runs)
    row("fw.run, in memory, jobs=1", ran, ran[0])
    row("fw.sweep, jobs=1", measure(lambda: sweep(arguments), runs), ran[0])
    for name, start in engines().items():
        with start(1) as executor:
            warm(executor)
            row(f"fw.sweep, {name}, 1 worker", measure(lambda: sweep(arguments, executor), runs), ran[0])


def throughput(arguments: dict[str, Any], runs: int, most: int) -> None:
    """Prints a table of numbers of workers."""
    for name, start in engines().items():
        for workers in range(1, most + 1):
            with start(workers) as executor:
                warm(executor)
                seconds, _ = measure(lambda: sweep(arguments, executor), runs)
            print(f"{name:22}{workers:3} workers{seconds:9.2f} s{runs / seconds:9.1f} runs/s", flush=True)


class Emulated(concurrent.futures.Executor):
    """Workers that take a time for a task, and then answer what a real one has answered before."""

    def __init__(self, answers: dict[bytes, bytes], workers: int, seconds: float) -> None:
        self._max_workers = workers
        self._answers = answers
        self._seconds = seconds
        self._free = [0.0] * workers
        self._due: queue.SimpleQueue[tuple[float, concurrent.futures.Future[bytes], bytes] | None]
        self._due = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._answer)
        self._thread.start()

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> "concurrent.futures.Future[Any]":
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        due = max(heapq.heappop(self._free), time.monotonic()) + self._seconds
        heapq.heappush(self._free, due)
        self._due.put((due, future, self._answers[args[0]]))
        return future

    def _answer(self) -> None:
        while (next_due := self._due.get()) is not None:  # All take as long, so the first to begin is the first to end.
            due, future, answer = next_due
            time.sleep(max(due - time.monotonic(), 0.0))
            if future.set_running_or_notify_cancel():
                future.set_result(answer)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._due.put(None)
        self._thread.join()


class Recorded(concurrent.futures.ThreadPoolExecutor):
    """A worker whose answers are kept."""

    def __init__(self) -> None:
        super().__init__(1)
        self.answers: dict[bytes, bytes] = {}

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> "concurrent.futures.Future[Any]":
        def work(task: bytes, *more: Any) -> bytes:
            return self.answers.setdefault(task, fn(task, *more))

        return super().submit(work, *args, **kwargs)


def client(runs: int) -> None:
    """Prints what this process needs for a run and for a task, and the throughput with many workers."""
    arguments = {"seeds": runs, "set": SLOW}
    print("what this process needs of a processor")
    for name, start in engines().items():
        for duration in ("1s", "60s"):
            for alone in (False, True):
                with tasks_of_one(alone), start(1) as executor:
                    warm(executor)
                    _, busy = measure(lambda: sweep({**arguments, "duration": duration}, executor), runs)
                tasks = "alone" if alone else "many in a task"
                print(f"{name:22}runs of {duration:>3}, {tasks:16}{busy / runs * 1e3:8.3f} ms a run", flush=True)
    print("\nemulated workers, which need 200 ms for a run and get one at a time")
    with tasks_of_one(True):
        with Recorded() as recorded:
            sweep({**arguments, "duration": "1s"}, recorded)
        for workers in (16, 64, 256, 1024):
            with Emulated(recorded.answers, workers, 0.2) as executor:
                seconds, busy = measure(lambda: sweep({**arguments, "duration": "1s"}, executor), runs)
            print(
                f"{workers:5} workers{seconds:8.2f} s{runs / seconds:9.1f} runs/s of {workers / 0.2:7.1f}; this process "
                f"{busy / runs * 1e3:6.3f} ms a run, {busy / seconds * 100:3.0f} % of a processor",
                flush=True,
            )


@contextlib.contextmanager
def tasks_of_one(alone: bool) -> Iterator[None]:
    """Makes each run a task."""
    before = _sweep._LEAST_WORK, _sweep._MOST_WORK, _sweep._HANDING_OVER
    if alone:
        _sweep._LEAST_WORK = _sweep._MOST_WORK = _sweep._HANDING_OVER = 0
    yield
    _sweep._LEAST_WORK, _sweep._MOST_WORK, _sweep._HANDING_OVER = before


def warm(executor: Any) -> None:
    """Starts the workers, which import fairwire with their first task."""
    sweep({"axes": {}, "seeds": range(100), "set": SLOW, "duration": "1s"}, executor)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10_000, help="how many; --client does a fifth, --workers a twentieth")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--client", action="store_true")
    options = parser.parse_args()
    seeds = options.runs
    short = {"seeds": seeds, "set": SLOW, "duration": "1s"}
    if options.client:
        client(max(seeds // 5, 1))
        return
    if options.workers > 1:
        runs = max(seeds // 20, 1)
        print(f"{runs} runs of five seconds on a fast link")
        throughput({"seeds": runs, "duration": "5s"}, runs, options.workers)
        return
    print(f"{seeds} runs of one cell")
    overhead(short, seeds)
    cells = max(seeds // 10, 1)
    rates = [f"{100_000 + number} bit/s" for number in range(cells)]
    print(f"\n{cells} cells of 10 runs")
    overhead({**short, "seeds": 10, "set": {}, "axes": {"topology.bottleneck.rate": rates}}, cells * 10)


if __name__ == "__main__":
    main()
