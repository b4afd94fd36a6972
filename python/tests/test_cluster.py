"""Sweeps on clusters: workers and schedulers that are lost, or have other code, and the same digests as here."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fairwire as fw
import pytest
from fairwire import _executors

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.slow

DUMBBELL = Path(__file__).parents[2] / "scenarios" / "dumbbell.toml"
QUEUES = {"topology.bottleneck.queue": ["5 packets", "10 packets", "20 packets"]}

# What a test may take, in seconds. It is then an error, not a wait without end.
BOUND_S = 120


def sweep(store: Path, **more: Any) -> fw.Sweep:
    arguments: dict[str, Any] = {"axes": QUEUES, "seeds": range(100), "duration": "1s", "store": store, **more}
    return fw.sweep(DUMBBELL, **arguments)


@pytest.fixture(autouse=True)
def bound() -> Iterator[None]:
    def end(number: int, frame: object) -> None:
        raise TimeoutError(f"the test took more than {BOUND_S} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(BOUND_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def client() -> Iterator[Any]:
    """Two workers, which are processes with one thread each."""
    options: dict[str, Any] = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def scheduler() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A scheduler that is a process, and its address."""
    program = "-m distributed.cli.dask_scheduler --host 127.0.0.1 --port 0 --no-dashboard"
    with started(program, stderr=subprocess.PIPE) as child:
        assert child.stderr is not None
        for line in child.stderr:
            if "Scheduler at:" in line:
                address = line.split()[-1]
                break
        threading.Thread(target=child.stderr.read, daemon=True).start()
        yield child, address
        child.send_signal(signal.SIGCONT)
        child.kill()


def started(program: str, **more: Any) -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, *program.split()], text=True, **{"stderr": subprocess.DEVNULL, **more})


def once(act: Callable[[], object]) -> Callable[[float], None]:
    """A progress function that acts once a tenth of the runs is done."""
    done: list[object] = []

    def progress(share: float) -> None:
        if share > 0.1 and not done:
            done.append(act())

    return progress


def test_a_cluster_gives_the_same_results(tmp_path: Path, client: Any) -> None:
    here = sweep(tmp_path / "here")
    there = sweep(tmp_path / "there", executor=client)
    assert (there.found, there.done) == (0, 300)
    assert there.runs.column("digest") == here.runs.column("digest")
    assert there.values.column("value") == here.values.column("value")
    assert sweep(tmp_path / "there", executor=client).done == 0


def test_runs_of_a_killed_worker_are_done_again(tmp_path: Path, client: Any) -> None:
    pids = client.run(os.getpid)
    victim = next(iter(pids.values()))
    there = sweep(tmp_path / "there", executor=client, progress=once(lambda: os.kill(victim, signal.SIGKILL)))
    assert victim not in client.run(os.getpid).values()
    assert (there.found, there.done) == (0, 300) and not there.partial
    assert there.runs.column("digest") == sweep(tmp_path / "here").runs.column("digest")


def test_workers_may_come_late(tmp_path: Path, scheduler: tuple[Any, str]) -> None:
    """A queue of jobs starts workers when it likes: a sweep begins without one."""
    workers: list[subprocess.Popen[str]] = []

    def start() -> None:
        workers.append(started(f"-m distributed.cli.dask_worker {scheduler[1]} --nthreads 1 --no-dashboard"))

    timer = threading.Timer(3.0, start)
    timer.start()
    try:
        with distributed.Client(scheduler[1]) as client:
            assert sweep(tmp_path, executor=client).done == 300
    finally:
        timer.join()
        for worker in workers:
            worker.terminate()
            worker.communicate(timeout=30)


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGSTOP], ids=["dead", "silent"])
def test_a_lost_scheduler_is_an_error(
    tmp_path: Path, scheduler: tuple[Any, str], sent: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_executors, "_PATIENCE_S", 3.0)
    child, address = scheduler
    worker = started(f"-m distributed.cli.dask_worker {address} --nthreads 1 --no-dashboard")
    try:
        client = distributed.Client(address)
        began = time.monotonic()
        with pytest.raises(fw.WorkerError, match="the scheduler does not answer .* finished runs are in the store"):
            sweep(tmp_path, seeds=1000, executor=client, progress=once(lambda: child.send_signal(sent)))
        assert time.monotonic() - began < 60
        child.send_signal(signal.SIGCONT)
        client.close(timeout=5)
    finally:
        worker.kill()
        worker.communicate(timeout=30)
    kept = len(fw.Store(tmp_path))
    assert 0 < kept < 3000
    rest = sweep(tmp_path, seeds=1000)
    assert (rest.found, rest.done) == (kept, 3000 - kept)


def test_a_closed_client_is_an_error(tmp_path: Path, client: Any) -> None:
    client.close()
    with pytest.raises(fw.WorkerError, match="the scheduler does not answer"):
        sweep(tmp_path, executor=client)
    assert len(fw.Store(tmp_path)) == 0


def have_other_code() -> None:
    """Makes a worker take its sources for others."""
    from fairwire import _fairwire

    work = _fairwire.work
    _fairwire.work = lambda task, *more: work(task.replace(b'"sources":"', b'"sources":"x'), *more)


def test_workers_with_other_code_are_refused(tmp_path: Path, client: Any) -> None:
    client.run(have_other_code)
    with pytest.raises(fw.WorkerError, match="this worker has other code .* install the same version"):
        sweep(tmp_path, executor=client)
    assert len(fw.Store(tmp_path)) == 0


def test_workers_without_fairwire_are_refused(tmp_path: Path, scheduler: tuple[Any, str]) -> None:
    """An empty package stands for one that is not there."""
    empty = tmp_path / "path" / "fairwire"
    empty.mkdir(parents=True)
    (empty / "__init__.py").touch()
    environment = {**os.environ, "PYTHONPATH": str(empty.parent)}
    worker = started(
        f"-m distributed.cli.dask_worker {scheduler[1]} --nthreads 1 --no-dashboard", env=environment
    )
    try:
        with distributed.Client(scheduler[1]) as client:
            with pytest.raises(fw.WorkerError, match="a worker has no fairwire.* install the same version"):
                sweep(tmp_path / "store", executor=client)
    finally:
        worker.terminate()
        worker.communicate(timeout=30)


def test_ctrl_c_keeps_what_is_finished(tmp_path: Path, client: Any) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(fw.Interrupted) as caught:
        sweep(tmp_path, seeds=1000, executor=client, progress=once(stop))
    kept = len(caught.value.results)
    assert caught.value.results.partial and 0 < kept < 3000
    rest = sweep(tmp_path, seeds=1000, executor=client)
    assert (rest.found, rest.done) == (kept, 3000 - kept)


def test_ray_gives_the_same_results(tmp_path: Path) -> None:
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        there = sweep(tmp_path / "there", executor="ray")
    finally:
        ray.shutdown()
    assert there.runs.column("digest") == sweep(tmp_path / "here").runs.column("digest")
