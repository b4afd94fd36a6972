"""Sweeps: nothing is done twice, and whoever does the runs, the results are equal."""

import concurrent.futures
import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import fairwire as fw
import pytest
from sweeps import DUMBBELL, QUEUES, sweep


def test_a_sweep_has_the_results_of_run(tmp_path: Path) -> None:
    swept = sweep(tmp_path, seeds=3)
    ran = fw.run(DUMBBELL, axes=QUEUES, seeds=3, duration="1s")
    assert swept.cells == ran.cells and swept.axes == ran.axes and len(swept) == len(ran)
    for table in ("values", "summary", "runs"):
        one, other = getattr(swept, table), getattr(ran, table)
        assert one.names == other.names
        assert all(one.column(name) == other.column(name) for name in one.names)
    assert swept.series("cwnd", "dccp").column("value") == ran.series("cwnd", "dccp").column("value")
    assert str(swept) == str(ran) and not swept.partial


def test_a_second_sweep_does_only_what_is_missing(tmp_path: Path) -> None:
    first = sweep(tmp_path)
    assert (first.found, first.done) == (0, 12)
    again = sweep(tmp_path)
    assert (again.found, again.done) == (12, 0)
    more = sweep(tmp_path, seeds=[0, 1, 2, 3, 17], axes={**QUEUES, "flows.dccp.dccp.ccid": [2, 3]})
    # CCID 2 is what the file says.
    assert (more.found, more.done) == (12, 18)
    assert set(more.runs.column("seed")) == {0, 1, 2, 3, 17}
    assert again.runs.column("digest") == first.runs.column("digest")


def test_every_executor_gives_the_same_results(tmp_path: Path) -> None:
    here = sweep(tmp_path / "here")
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        threads = sweep(tmp_path / "threads", executor=executor)
    with concurrent.futures.ProcessPoolExecutor(2) as executor:
        processes = sweep(tmp_path / "processes", executor=executor)
    for other in (threads, processes):
        assert (other.found, other.done) == (0, 12)
        assert other.runs.column("digest") == here.runs.column("digest")
        assert other.values.column("value") == here.values.column("value")


def test_a_broken_executor_loses_nothing(tmp_path: Path) -> None:
    """If a process of a pool is killed, the pool is broken; the sweep says so, and goes on with a new one."""

    def kill(executor: concurrent.futures.ProcessPoolExecutor, share: float) -> None:
        if share > 0.1:
            for pid in list(executor._processes):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    with concurrent.futures.ProcessPoolExecutor(2) as executor:
        with pytest.raises(fw.WorkerError, match="start the sweep again with a new executor"):
            sweep(tmp_path, seeds=200, executor=executor, progress=lambda share: kill(executor, share))
    kept = len(fw.Store(tmp_path))
    assert 0 < kept < 600
    with concurrent.futures.ProcessPoolExecutor(2) as executor:
        rest = sweep(tmp_path, seeds=200, executor=executor)
    assert (rest.found, rest.done) == (kept, 600 - kept)


class OtherCode(concurrent.futures.Executor):
    """An executor whose worker has other code."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> "concurrent.futures.Future[Any]":
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        task = args[0].replace(b'"sources":"', b'"sources":"x')
        try:
            future.set_result(fn(task, *args[1:], **kwargs))
        except fw.FairwireError as error:
            future.set_exception(error)
        return future


def test_a_worker_with_other_code_is_refused(tmp_path: Path) -> None:
    with pytest.raises(fw.WorkerError, match="this worker has other code .* install the same version"):
        sweep(tmp_path, executor=OtherCode())
    assert len(fw.Store(tmp_path)) == 0


def test_a_killed_sweep_loses_only_what_was_under_way(tmp_path: Path) -> None:
    program = f"""
import fairwire as fw
def progress(share):
    if share > 0.2: print("under way", flush=True)
fw.sweep({str(DUMBBELL)!r}, axes={QUEUES!r}, seeds=200, duration="1s", store={str(tmp_path)!r}, progress=progress)
"""
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "under way\n"
    child.kill()
    child.communicate(timeout=60)
    store = fw.Store(tmp_path)
    kept = len(store)
    assert 0 < kept < 600
    rest = sweep(tmp_path, seeds=200)
    assert (rest.found, rest.done) == (kept, 600 - kept)
    assert len(store) == 600 and store.damaged == 0


def test_ctrl_c_keeps_what_is_finished(tmp_path: Path) -> None:
    def stop(share: float) -> None:
        if share > 0.1:
            raise KeyboardInterrupt

    for executor in (None, concurrent.futures.ThreadPoolExecutor(2)):
        with pytest.raises(fw.Interrupted) as caught:
            sweep(tmp_path / str(executor is None), seeds=1000, executor=executor, progress=stop)
        results = caught.value.results
        assert results.partial and 0 < len(results) < 3000
        assert len(fw.Store(tmp_path / str(executor is None))) == len(results)


def test_seeds_until_an_interval_is_narrow(tmp_path: Path) -> None:
    until = fw.Until("goodput", within=0.1, of="dccp", window="whole", least=3, most=100)
    swept = sweep(tmp_path, seeds=until)
    rows = zip(*(swept.summary.column(name) for name in ("of", "metric", "window", "n", "mean", "half_width_95")))
    wanted = [row for row in rows if row[:3] == ("dccp", "goodput", "whole")]
    assert len(wanted) == 3
    assert all(n == 100 or half <= 0.1 * mean for *_, n, mean, half in wanted)
    assert sweep(tmp_path, seeds=until).done == 0


@pytest.mark.parametrize("wrong", [{"of": "tyop"}, {"window": "early"}, {"metric": "utilisation", "of": "dccp"}])
def test_an_interval_of_nothing_is_refused_before_any_run(tmp_path: Path, wrong: dict[str, Any]) -> None:
    """The error says what has the metric."""
    wanted = fw.Until(**{"metric": "goodput", "least": 2, **wrong})
    text = f"no value for the {wanted.metric} of .* in .*; the metric is there for (tcp|bottleneck) in whole"
    with pytest.raises(ValueError, match=text):
        sweep(tmp_path / "store", seeds=wanted)
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("engine", [None, concurrent.futures.ThreadPoolExecutor])
def test_an_interval_of_what_no_run_had_is_refused(tmp_path: Path, engine: Any) -> None:
    """That a flow of DCCP sends nothing again is known from its runs only, which are kept."""
    executor = None if engine is None else engine(1)
    with pytest.raises(ValueError, match="no value for the retransmitted of dccp in any window; .* for tcp in whole$"):
        sweep(tmp_path, seeds=fw.Until("retransmitted", of="dccp", least=2), executor=executor)
    assert len(fw.Store(tmp_path)) >= 2


def test_a_wanted_interval_is_a_share_below_one() -> None:
    """Five is no five percent."""
    assert fw.Until(within="5 %") == fw.Until(within=0.05)
    for within in (0.0, 5, "5", "wide", float("nan")):
        with pytest.raises(ValueError, match="within is a share of the mean, such as 0.05 or"):
            fw.Until(within=within)


def test_threads_may_make_a_store_together(tmp_path: Path) -> None:
    for number in range(10):
        with concurrent.futures.ThreadPoolExecutor(4) as threads:
            swept = [threads.submit(sweep, tmp_path / str(number), seeds=1, jobs=1) for _ in range(4)]
            assert all(len(one.result()) == 3 for one in swept)


def test_stores_merge_and_lose_what_no_sweep_lists(tmp_path: Path) -> None:
    one = sweep(tmp_path / "one", axes={"topology.bottleneck.queue": ["5 packets", "6 packets"]})
    sweep(tmp_path / "two", axes={"topology.bottleneck.queue": ["6 packets", "7 packets"]})
    store = one.store
    assert store.merge(tmp_path / "two") == 4
    assert len(store) == 12 and len(store.sweeps) == 4
    assert store.prune() == 0
    for id, cell in zip(store.sweeps.column("sweep"), store.sweeps.column("cell"), strict=True):
        if cell == "queue5packets":
            store.forget(id)
    assert store.prune(unlisted=True) == 4
    assert len(store) == 8


def test_bad_stores_are_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(fw.StoreError, match="has files, but is not a store"):
        sweep(tmp_path)
    with pytest.raises(fw.StoreError, match="there is no store in .*nowhere: a sweep makes one"):
        fw.Store(tmp_path / "nowhere")
    swept = sweep(tmp_path / "store")
    assert len(swept) == 12
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "store.json").write_text('{"format": 1}')
    with pytest.raises(fw.StoreError, match="is a store of an early version .* give a new folder"):
        sweep(tmp_path / "old")


class Partly(concurrent.futures.Executor):
    """Does every task at once, and says of the fourth that it failed."""

    tasks = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> concurrent.futures.Future[Any]:
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        self.tasks += 1
        if self.tasks == 4:
            future.set_exception(fw.RunError("not this one"))
        else:
            future.set_result(fn(*args, **kwargs))
        return future


def test_what_is_finished_is_kept_after_a_failure(tmp_path: Path) -> None:
    """A task that fails does not take along those that were finished beside it."""
    executor = Partly()
    with pytest.raises(fw.RunError, match="not this one") as failed:
        sweep(tmp_path, seeds=300, executor=executor, jobs=4)
    kept = len(fw.Store(tmp_path))
    assert executor.tasks > 4 and kept == len(failed.value.results)  # type: ignore[attr-defined]
    assert kept % (executor.tasks - 1) == 0, "all tasks have as many runs"
    assert sweep(tmp_path, seeds=300).found == kept


def test_runs_that_leave_the_store_are_missed(tmp_path: Path) -> None:
    """Results are never those of fewer runs than the sweep had."""
    swept = sweep(tmp_path)
    assert len(swept.values) > 0
    store = fw.Store(tmp_path)
    for id in set(store.sweeps.column("sweep")):
        store.forget(id)
    with pytest.raises(fw.StoreError, match="no sweep would be left .* all of its 12 runs would be removed"):
        store.prune(unlisted=True)
    sweep(tmp_path, duration="2s", seeds=1)
    assert store.prune(unlisted=True) == 12
    with pytest.raises(ValueError, match="the store lists no sweep x"):
        store.forget("x")
    with pytest.raises(fw.StoreError, match="has lost 4 runs of .*, because it was pruned"):
        swept.summary  # noqa: B018
    assert sweep(tmp_path).done == 12


def test_a_forked_process_has_its_own_connection(tmp_path: Path) -> None:
    """A process that is forked during a sweep has its open files, and the sweep's runs are in one file all the same."""
    children: list[int] = []

    def fork(share: float) -> None:
        if share > 0 and not children:
            children.append(os.fork())
            if not children[0]:
                time.sleep(60)
                os._exit(0)

    try:
        swept = sweep(tmp_path, seeds=100, progress=fork)
        assert children and [file.name for file in tmp_path.iterdir()] == ["store.db"]
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    store = fw.Store(tmp_path)
    child = os.fork()
    if not child:
        os._exit(0 if len(swept.runs) == len(store) == 300 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert len(swept.runs) == len(store) == 300
    store.verify()


def test_a_store_is_where_it_was_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path counts from the working directory of that time."""
    monkeypatch.chdir(tmp_path)
    swept = sweep(Path("store"))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert len(swept.store) == 12 and len(swept.runs) >= 12


@pytest.mark.parametrize("engine", ["here", "threads"])
def test_the_exception_of_a_progress_function_comes_out(tmp_path: Path, engine: str) -> None:
    """What is finished is in the store, and the exception has it."""
    error = RuntimeError("enough")

    def stop(share: float) -> None:
        if share > 0.1:
            raise error

    executor = None if engine == "here" else concurrent.futures.ThreadPoolExecutor(2)
    with pytest.raises(RuntimeError) as caught:
        sweep(tmp_path, seeds=1000, executor=executor, progress=stop)
    assert caught.value is error
    results = error.results  # type: ignore[attr-defined]
    assert results.partial and 0 < len(results) < 3000
    assert len(fw.Store(tmp_path)) == len(results)


# After the first Ctrl-C, one more comes at each call that Fairwire makes in Python.
SECOND = """
import concurrent.futures, os, signal, sys
import fairwire as fw
package = os.path.dirname(fw.__file__)
def again(frame, event, _):
    if event == "call" and frame.f_code.co_filename.startswith(package):
        signal.raise_signal(signal.SIGINT)
first = True
def progress(share):
    global first
    if share > {share} and first:
        first = False
        sys.setprofile(again)
        signal.raise_signal(signal.SIGINT)
try:
    {call}
except KeyboardInterrupt as interrupt:
    sys.setprofile(None)
    print(type(interrupt).__name__, len(interrupt.results))
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
"""
ENGINES = ["None", "concurrent.futures.ThreadPoolExecutor(2)"]


def interrupted_twice(call: str, share: float) -> int:
    """Returns how many runs were kept."""
    child = [sys.executable, "-c", SECOND.format(call=call, share=share)]
    told = subprocess.run(child, capture_output=True, text=True, timeout=60)
    assert told.returncode == 0, told.stderr
    kind, kept = told.stdout.split()
    assert kind == "Interrupted"
    return int(kept)


@pytest.mark.parametrize("executor", ENGINES)
def test_a_second_ctrl_c_ends_no_sweep_without_its_results(tmp_path: Path, executor: str) -> None:
    settings = f"seeds=10_000, duration='20s', store={str(tmp_path)!r}, progress=progress, executor={executor}"
    kept = interrupted_twice(f"fw.sweep({str(DUMBBELL)!r}, {settings})", 0.0005)
    assert kept == len(fw.Store(tmp_path)) > 0


def test_a_second_ctrl_c_ends_no_runs_without_their_results() -> None:
    run = f"fw.run({str(DUMBBELL)!r}, seeds=1000, duration='20s', progress=progress)"
    assert interrupted_twice(run, 0.005) > 0


def test_a_second_ctrl_c_ends_no_paper_without_its_results() -> None:
    assert interrupted_twice("fw.paper('voip', progress=progress)", 0.005) >= 0


def test_a_sweep_of_many_cells_shows_no_table(tmp_path: Path) -> None:
    rates = [f"{100 + number} kbit/s" for number in range(501)]
    axes = {"topology.bottleneck.rate": rates}
    few = sweep(tmp_path, axes={"topology.bottleneck.rate": rates[:3]}, seeds=1, duration="100ms")
    assert "goodput" in str(few) or "dccp" in str(few)
    many = sweep(tmp_path, axes=axes, seeds=1, duration="100ms")
    text = "501 cells, 3 runs found and 498 done. A table of more than 500 cells is not shown"
    assert text in str(many) and text in many._repr_html_()


def test_one_is_not_several(tmp_path: Path) -> None:
    """In what is shown of tables, results, sweeps and stores."""
    quiet = {"flows.tcp": None, "run.start_offset": "none"}
    one = sweep(tmp_path, axes={}, seeds=1, set=quiet)
    assert f"{len(one)} run" == "1 run" and repr(one).endswith(": 1 cell, 0 runs found and 1 done>")
    assert repr(sweep(tmp_path, axes={}, seeds=1, set=quiet)).endswith(": 1 cell, 1 run found and 0 done>")
    assert repr(one.store) == f"<fairwire.Store {tmp_path}: 1 run>"
    assert repr(one.store.sql("select 1 as x")) == "<fairwire.Table: 1 row of x>"
    assert repr(one.store.sql("select 1 as x where 0")) == "<fairwire.Table: 0 rows of x>"
    ran = fw.run(DUMBBELL, seeds=1, duration="1s", set=quiet)
    assert repr(ran).endswith(": 1 run of 1 cell>")


def test_wrong_arguments_are_named(tmp_path: Path) -> None:
    cases: list[tuple[Any, type[Exception], str]] = [
        ([], ValueError, "^seeds is empty"),
        ([-1], ValueError, r"^seeds\[0\] is a number from 0 to 18446744073709551615, and not -1$"),
        ([1, 2**64], ValueError, r"^seeds\[1\] is a number from 0"),
        ([1.5], TypeError, r"^seeds\[0\] is a number from 0 .*, and not 1.5$"),
        ("12", TypeError, "^seeds is a number from 1 to 10000, and not '12'$"),
        (fw.Until("nonsense"), ValueError, 'no metric "nonsense": there are throughput'),
        (True, TypeError, "^seeds is a number from 1 to 10000, and not True$"),
        (0, ValueError, "^seeds is a number from 1 to 10000, and not 0$"),
    ]
    for seeds, kind, text in cases:
        with pytest.raises(kind, match=text):
            sweep(tmp_path / "store", seeds=seeds)
    for executor in (None, concurrent.futures.ThreadPoolExecutor(1)):
        for jobs in (0, -1, 1_025):
            with pytest.raises(ValueError, match=f"^jobs is a number from 1 to 1024, and not {jobs}$"):
                sweep(tmp_path / "store", jobs=jobs, executor=executor)
    with pytest.raises(fw.ScenarioError):
        sweep(tmp_path / "store", set={"nonsense": 1})
    for key in ("run.seeds", "run.seed"):
        with pytest.raises(ValueError, match=rf"^set\['{key}'\] and seeds set the same"):
            sweep(tmp_path / "store", seeds=range(4), set={key: 4})
    with pytest.raises(TypeError):
        fw.Until("goodput", "dccp")  # type: ignore[call-arg]
    for store, kind in (("", ValueError), (3, TypeError), (None, TypeError), (b"x", TypeError)):
        with pytest.raises(kind, match=f"^store is the path of a folder, and not .?{str(store)[:1]}"):
            fw.sweep(DUMBBELL, store=store)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="^path is the path of a folder"):
        fw.Store("")
    untils: list[dict[str, Any]] = [{"metric": 3}, {"of": ["dccp"]}, {"window": 1}, {"least": 1}, {"least": "5"}, {"most": 2.5}]
    for wrong in untils:
        with pytest.raises((TypeError, ValueError), match=f"^{next(iter(wrong))} is "):
            fw.Until(**wrong)
    assert not (tmp_path / "store").exists(), "nothing was run"


def test_wrong_executors_are_named(tmp_path: Path) -> None:
    choices = 'an executor of concurrent.futures, a dask.distributed.Client or "ray"'
    with pytest.raises(ValueError, match=f"^executor is {choices}, and not 'dask'$"):
        sweep(tmp_path, executor="dask")
    with pytest.raises(TypeError, match=f"^executor is {choices}, and not 2$"):
        sweep(tmp_path, executor=2)
    if importlib.util.find_spec("ray") is None:
        with pytest.raises(ImportError, match='^executor="ray" needs the package ray'):
            sweep(tmp_path, executor="ray")


def test_seeds_may_be_those_of_numpy(tmp_path: Path) -> None:
    numpy = pytest.importorskip("numpy")
    assert sweep(tmp_path, seeds=numpy.int64(2)).done == 6
    assert sweep(tmp_path, seeds=numpy.arange(1, 4)).done == 3
