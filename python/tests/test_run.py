"""Running scenarios: arguments, results, errors, interruption."""

import json
import os
import pickle
import shutil
import signal
import statistics
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import fairwire as fw
import pytest

DUMBBELL = Path(__file__).parents[2] / "scenarios" / "dumbbell.toml"


@pytest.fixture(scope="module")
def results() -> fw.Results:
    return fw.run(DUMBBELL, seeds=2, duration="2s", axes={"topology.bottleneck.queue": ["10 packets", "50 packets"]})


def test_every_value_has_a_row(results: fw.Results) -> None:
    """Each value stands beside its cell, seed, subject, window, metric and axis."""
    assert len(results.cells) == 2
    assert results.axes == ["topology.bottleneck.queue"]
    table = results.values
    assert table.names[:8] == ["cell", "seed", "kind", "of", "window", "metric", "value", "unit"]
    assert set(table.column("topology.bottleneck.queue")) == {"10 packets", "50 packets"}
    rows = list(zip(*(table.column(name) for name in table.names), strict=True))
    assert len(rows) == len(table)
    found = [row for row in rows if row[3] == "dccp" and row[5] == "goodput" and row[1] is not None]
    assert len(found) == 4, "two cells with two seeds"
    assert all(row[6] > 0 and row[7] == "bit/s" for row in found)


def test_the_summary_is_that_of_the_command(results: fw.Results) -> None:
    """Means and intervals are those that `fairwire run --json` prints."""
    arguments = ["--axes", "topology.bottleneck.queue=10 packets,50 packets", "--seeds", "2", "--duration", "2s", "--json"]
    command = [sys.executable, "-m", "fairwire", "run", str(DUMBBELL), *arguments]
    printed = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=60).stdout)
    cells = {cell["name"]: cell["summary"] for cell in printed["cells"]}
    assert list(cells) == results.cells
    keys = ("kind", "of", "window", "metric", "unit", "n", "mean", "half_width_95")
    # JSON has no name for all flows together.
    expected = [
        (name, *("all" if key == "of" and row["kind"] == "all" else row[key] for key in keys))
        for name, rows in cells.items()
        for row in rows
    ]
    table = results.summary
    assert list(zip(*(table.column(name) for name in ("cell", *keys)), strict=True)) == expected
    assert any(row[-1] for row in expected), "some interval is not zero"
    assert json.loads(results.to_json())["cells"] == printed["cells"]


def test_equal_seeds_give_equal_digests(results: fw.Results) -> None:
    again = fw.run(
        DUMBBELL, seeds=2, duration="2s", jobs=1, axes={"topology.bottleneck.queue": ["10 packets", "50 packets"]}
    )
    assert again.runs.column("digest") == results.runs.column("digest")


def test_pandas_polars_and_arrow_agree(results: fw.Results) -> None:
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    frame, table = results.df, results.pl
    assert isinstance(frame, pandas.DataFrame) and isinstance(table, polars.DataFrame)
    assert list(frame.columns) == table.columns == results.values.names
    assert frame["value"].tolist() == table["value"].to_list()
    for whole in (results.values, results.summary, results.runs):
        for name in whole.names:
            column = whole.df[name]
            assert [None if pandas.isna(value) else value for value in column] == whole.column(name), name
    assert str(frame["seed"].dtype) == "UInt64" and str(frame["value"].dtype) == "float64"
    assert list(frame["cell"].cat.categories) == results.cells
    assert polars.DataFrame(results.arrow).equals(table)
    mean = frame[(frame.of == "dccp") & (frame.metric == "goodput")].groupby("cell", observed=True)["value"].mean()
    assert (mean > 0).all() and len(mean) == 2


def test_tables_of_cells_that_lack_values_join() -> None:
    """A cell without an unperturbed run, a table with rows of one cell only, and a column without any value."""
    pytest.importorskip("pandas")
    text = DUMBBELL.read_text().replace('jitter = "0.8 ms"\n', "") + "[cells.calm]\n[cells.lossy.topology.bottleneck]\nloss = '1 %'\n"
    results = fw.run(scenario_of(text), seeds=2, duration="1s")
    unperturbed = dict(zip(results.summary.column("cell"), results.summary.column("unperturbed"), strict=True))
    assert unperturbed["calm"] is not None and unperturbed["lossy"] is None
    assert set(results.series("cwnd", cell="lossy").df["cell"]) == {"lossy"}
    lossy = fw.run(scenario_of(text), seeds=1, duration="1s", only="lossy")
    assert str(lossy.summary.df["half_width_95"].dtype) == "float64"


def scenario_of(text: str) -> dict[str, Any]:
    tomllib = pytest.importorskip("tomllib")
    values: dict[str, Any] = tomllib.loads(text)
    return values


def test_series_have_times(results: fw.Results) -> None:
    table = results.series("throughput", "dccp", cell=results.cells[0])
    times = table.column("time")
    assert times and times[0] > 0 and set(table.column("of")) == {"dccp"}
    with pytest.raises(ValueError, match='no series "nonsense": there are throughput'):
        results.series("nonsense")
    with pytest.raises(KeyError, match="no cell nowhere"):
        results.series("throughput", cell="nowhere")
    for cell in (None, results.cells[0]):
        with pytest.raises(ValueError, match="no series throughput of dcpc: there are .*dccp, .*tcp"):
            results.series("throughput", "dcpc", cell=cell)
    with pytest.raises(KeyError, match='no column "tmie": there are cell, seed, kind, of, time'):
        table.column("tmie")


def test_means_over_flows_and_differences(results: fw.Results) -> None:
    """They are those of the numbers of each seed, so a difference of equal seeds has an interval of its own."""
    rows = zip(*(results.values.column(name) for name in ("cell", "seed", "of", "metric", "window", "value")), strict=True)
    goodput = {
        (cell, seed, of): value
        for cell, seed, of, metric, window, value in rows
        if seed is not None and metric == "goodput" and window == "whole"
    }
    first, second = results.cells
    seeds = sorted({seed for _, seed, _ in goodput})

    def expected(of_each_seed: list[float]) -> tuple[float, float]:
        mean = statistics.fmean(of_each_seed)
        # Student's t for two values.
        return mean, 12.706 * statistics.stdev(of_each_seed) / len(of_each_seed) ** 0.5

    def found(table: fw.Table, row: int) -> tuple[float, float]:
        assert table.column("n")[row] == 2 and table.column("unit")[row] == "bit/s"
        return table.column("mean")[row], table.column("half_width_95")[row]

    both = results.mean("goodput", "*c*", total=True)
    assert both.column("cell") == [first, second] and "topology.bottleneck.queue" in both.names
    total = [goodput[second, seed, "tcp"] + goodput[second, seed, "dccp"] for seed in seeds]
    assert found(both, 1) == pytest.approx(expected(total), rel=1e-4)
    assert results.mean("goodput", total=True).column("mean") == both.column("mean")
    less = [goodput[first, seed, "tcp"] - goodput[first, seed, "dccp"] for seed in seeds]
    assert found(results.mean("goodput", "tcp", minus="dccp"), 0) == pytest.approx(expected(less), rel=1e-4)
    against = results.mean("goodput", ["dccp"], against=first)
    gain = [goodput[second, seed, "dccp"] - goodput[first, seed, "dccp"] for seed in seeds]
    assert found(against, 1) == pytest.approx(expected(gain), rel=1e-4)
    assert against.column("mean")[0] == 0.0
    with pytest.raises(ValueError, match="no goodput of nobody, none in whole: there are tcp in whole"):
        results.mean("goodput", ["nobody", "none"])
    with pytest.raises(ValueError, match='no metric "nonsense": there are'):
        results.mean("nonsense")
    with pytest.raises(KeyError, match="no cell nowhere"):
        results.mean("goodput", against="nowhere")


def test_a_seed_without_a_value_has_no_mean() -> None:
    """Some runs have no loss. The other seeds count, and a sum of two flows is never one of a single flow."""
    changes = {"topology.bottleneck.loss": "0.1 %", "topology.bottleneck.queue": "1000 packets"}
    results = fw.run(DUMBBELL, seeds=12, duration="2s", set=changes)
    names = ("seed", "of", "metric", "value")
    rows = list(zip(*(results.values.column(name) for name in names), strict=True))
    first = {(seed, of): value for seed, of, metric, value in rows if metric == "first_loss" and seed is not None}
    tcp = [value for (_, of), value in first.items() if of == "tcp"]
    assert 0 < len(tcp) < 12
    mean = results.mean("first_loss", "tcp")
    assert mean.column("n") == [len(tcp)]
    assert mean.column("mean")[0] == pytest.approx(statistics.fmean(tcp))
    both = [seed for seed in range(1, 13) if (seed, "tcp") in first and (seed, "dccp") in first]
    assert results.mean("first_loss", ["tcp", "dccp"], total=True).column("n") == [len(both)]
    assert results.mean("jain").column("mean") == results.mean("jain", "all").column("mean")


def test_nothing_is_not_everything(results: fw.Results) -> None:
    """A filter that finds nothing is a mistake."""
    with pytest.raises(ValueError, match="only is empty"):
        fw.run(DUMBBELL, only=[])
    with pytest.raises(ValueError, match="of is empty: give a name or a pattern of flows"):
        results.mean("goodput", [])
    with pytest.raises(ValueError, match="minus is empty: give a name"):
        results.mean("goodput", "tcp", minus=[])
    with pytest.raises(TypeError, match="progress is True, False or a function"):
        fw.run(DUMBBELL, seeds=1, duration="1s", progress="yes")  # type: ignore[arg-type]


def test_endless_values_are_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ValueError, match="more than 64 deep"):
        fw.Scenario({"a" + "é" * 40: endless})
    # Neither the path of a key nor a list grows here.
    nameless: dict[str, Any] = {}
    nameless[""] = nameless
    with pytest.raises(ValueError, match="more than 64 deep"):
        fw.Scenario(nameless)

    class Itself:
        def tolist(self) -> "Itself":
            return self

    with pytest.raises(ValueError, match="^a...: lists and dicts in each other, more than 64 deep"):
        fw.Scenario({"a": Itself()})
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    for value in (endless, deep):
        with pytest.raises(ValueError, match="more than 64 deep"):
            fw.run(DUMBBELL, set={"about": value})


def test_a_capture_is_pcapng(results: fw.Results, tmp_path: Path) -> None:
    path = tmp_path / "run.pcapng"
    both = results.pcap(path, links=["bottleneck"])
    back = results.pcap(path, links=["bottleneck/back"])
    assert both > 100
    assert 0 < back < both
    assert results.pcap(path, links=["bottleneck/back", "bottleneck"]) == both
    assert path.read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"
    with pytest.raises(FileNotFoundError, match="cannot write"):
        results.pcap(tmp_path / "nowhere" / "run.pcapng")


def test_a_capture_is_of_a_seed_of_the_results(tmp_path: Path) -> None:
    """The first one, or the one that is asked for; the packets are those of that run."""

    def captured(results: fw.Results, seed: int | None = None) -> bytes:
        results.pcap(tmp_path / "run.pcapng", seed=seed)
        return (tmp_path / "run.pcapng").read_bytes()

    of_17 = fw.run(DUMBBELL, seed=17, seeds=1, duration="1s")
    swept = fw.sweep(DUMBBELL, seeds=[17, 3], duration="1s", store=tmp_path / "store")
    both = fw.run(DUMBBELL, seed=16, seeds=2, duration="1s")
    assert captured(of_17) == captured(swept, 17) == captured(both, 17)
    assert captured(swept) == captured(swept, 3) != captured(of_17)
    with pytest.raises(ValueError, match="no run of base with seed 4: there are 3, 17$"):
        swept.pcap(tmp_path / "run.pcapng", seed=4)


def test_results_are_not_pickled(results: fw.Results) -> None:
    """Exceptions that have results leave them where they are."""
    error = fw.StoreError("no room")
    error.results = results  # type: ignore[attr-defined]
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is fw.StoreError and copy.args == ("no room",) and not hasattr(copy, "results")
    with pytest.raises(TypeError, match=r"results cannot be pickled: pickle a table of them"):
        pickle.dumps(results)


def test_a_notebook_shows_the_table(results: fw.Results) -> None:
    assert "<pre>" in results._repr_html_() and "dccp" in results._repr_html_()
    assert repr(results).startswith("<fairwire.Results of ")


def built(ccid: int = 3) -> dict[str, Any]:
    return {
        "title": "built",
        "run": {"duration": "2 s", "seeds": 1},
        "topology": {
            "kind": "dumbbell",
            "access": {"rate": "100 Mbit/s", "delay": "1 ms"},
            "bottleneck": {"rate": "2 Mbit/s", "delay": "20 ms", "queue": "20 packets"},
        },
        "flows": {"one": {"traffic": "greedy", "wire": "500 B", "dccp": {"ccid": ccid}}},
    }


def test_a_scenario_is_built_from_values() -> None:
    """A dict has the keys of a file; an error names the key."""
    scenario = fw.Scenario(built())
    assert scenario.cells() == ["base"]
    assert fw.run(scenario).values.column("value")
    with pytest.raises(fw.ScenarioError, match="^flows.one.dccp.ccid: "):
        fw.run(built(ccid=7))
    with pytest.raises(fw.ScenarioError, match="^flows.one: 'wire', 'payload' or 'codec' is missing"):
        fw.run({**built(), "flows": {"one": {"traffic": "greedy", "dccp": {"ccid": 2}}}})
    with pytest.raises(fw.ScenarioError, match="^the scenario: .*topology"):
        fw.run({name: table for name, table in built().items() if name != "topology"})
    with pytest.raises(ValueError, match="^run.duration: nan is no value of a scenario"):
        fw.run({**built(), "run": {"duration": float("nan")}})
    with pytest.raises(TypeError, match="flows.one: a value of type object"):
        fw.Scenario({"flows": {"one": object()}})
    with pytest.raises(fw.ScenarioError, match="cannot read nowhere.toml"):
        fw.run("nowhere.toml")


def test_wrong_arguments_are_named() -> None:
    cases: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"seeds": 0}, ValueError, "^seeds is a number from 1 to 10000, and not 0$"),
        ({"seeds": -1}, ValueError, "^seeds is a number from 1 to 10000, and not -1$"),
        ({"seeds": 10_001}, ValueError, "^seeds is a number from 1 to 10000"),
        ({"seeds": [1, 2]}, TypeError, r"^seeds is a number or a range of step 1, and not \[1, 2\]: `fw.sweep` takes"),
        ({"seeds": range(-1, 4)}, ValueError, "^seed is a number from 0 to 18446744073709551615, and not -1$"),
        ({"seed": -1}, ValueError, "^seed is a number from 0"),
        ({"seed": 2**64}, ValueError, "^seed is a number from 0"),
        ({"seed": 1.5}, TypeError, "^seed is a number from 0 .*, and not 1.5$"),
        ({"duration": 1}, TypeError, "^duration is a time with its unit, such as '20s', and not 1$"),
        ({"duration": "soon"}, ValueError, "^duration: "),
        ({"jobs": 0}, ValueError, "^jobs is a number from 1 to 1024, and not 0$"),
        ({"jobs": -1}, ValueError, "^jobs is a number from 1 to 1024, and not -1$"),
        ({"axes": {"queue": "5 packets"}}, TypeError, r"^axes\['queue'\] is a list of values, .* write \['5 packets'\]$"),
        ({"axes": {"queue": []}}, ValueError, r"^axes\['queue'\] has no value$"),
        ({"axes": {"queue": [None]}}, ValueError, r'^axes\["queue"\]: None is no value of an axis$'),
        ({"axes": {3: [1]}}, TypeError, "^a key of axes is 3, and not a str$"),
        ({"set": ["x=1"]}, TypeError, "^set is a dict, and not "),
        ({"set": {"title": object()}}, TypeError, r'^set\["title"\]: a value of type object cannot be'),
        ({"only": [1]}, TypeError, "^only has the names of cells, and not 1$"),
        ({"seeds": 3, "set": {"run.seeds": 4}}, ValueError, r"^set\['run.seeds'\] and seeds set the same: give one"),
        ({"seeds": 3, "set": {"run": {"max_seeds": 4}}}, ValueError, r"^set\['run.max_seeds'\] and seeds set the same"),
        ({"duration": "1s", "axes": {"run.duration": ["2s"]}}, ValueError, r"^axes\['run.duration'\] and duration set"),
    ]
    for arguments, kind, text in cases:
        with pytest.raises(kind, match=text):
            fw.run(DUMBBELL, **arguments)


def test_errors_of_changes_speak_of_python() -> None:
    """They name the argument and the key, and no option of the command."""
    changes: list[tuple[dict[str, Any], str]] = [
        ({"set": {"nonsense": 1}}, r'^set\["nonsense"\] = 1: .*nonsense'),
        ({"set": {"flows.tcp.enabled": 0.0}}, r'^set\["flows.tcp.enabled"\] = 0.0: '),
        ({"set": {"topology.links.typo.delay": "5ms"}}, r'^set\["topology.links.typo.delay"\] = "5ms": '),
        ({"axes": {"flows.dccp.dccp.ccid": [2, 7]}}, r'^axes\["flows.dccp.dccp.ccid"\]: '),
        ({"axes": {"flows.dccp.dccp.ccid": [2, 2]}}, r"^axes.*this axis has '2' twice"),
        ({"set": {"flows.dccp.dccp": {"ccid": 9}}}, r'^set\["flows.dccp.dccp"\]: the CCID is 2'),
        ({"axes": {"measure.metrics": [["goodput"], ["nonsense"]]}}, r'^axes\["measure.metrics"\]: .*nonsense'),
        (
            {"set": {"flows.dccp.dccp.ccid": 2}, "axes": {"flows.dccp.dccp.ccid": [2, 3]}},
            r'^axes\["flows.dccp.dccp.ccid"\]: this key has a value for all cells and is an axis too',
        ),
        (
            {"axes": {"topology.bottleneck.delay": ["20 ms", "20ms"]}},
            "two cells have the name 'delay20ms', with topology.bottleneck.delay = 20 ms and 20ms: ",
        ),
        ({"axes": {"typo": [2]}}, r'^axes\["typo"\]: no axis is called .typo.'),
        ({"duration": "0s"}, "^duration: "),
    ]
    for arguments, text in changes:
        with pytest.raises((fw.ScenarioError, ValueError), match=text) as caught:
            fw.run(DUMBBELL, **arguments)
        assert "command line" not in str(caught.value) and "--" not in str(caught.value), str(caught.value)


def test_values_may_be_those_of_numpy_and_have_commas() -> None:
    numpy = pytest.importorskip("numpy")
    scenario = fw.Scenario(DUMBBELL)
    changes = {"flows.tcp.enabled": numpy.bool_(False), "run.seed": numpy.int64(2), "flows.dccp.jitter": None}
    results = fw.run(scenario, set=changes, duration="1s", seeds=numpy.int64(1), jobs=numpy.int8(1))
    assert not any("tcp" in name for name in results.values.column("of")) and len(results) >= 1
    ccids = scenario.cells(axes={"flows.dccp.dccp.ccid": numpy.array([2, 3])})
    assert ccids == scenario.cells(axes={"flows.dccp.dccp.ccid": [2, 3]}) and len(ccids) == 2
    codel = {"kind": "codel", "limit": "50 packets"}
    cells = scenario.cells(axes={"topology.bottleneck.queue": ["5 packets", codel]})
    assert len(cells) == 2 and "codel" in cells[1]
    assert len(scenario.cells(axes={"measure.metrics": [["goodput"], ["goodput", "loss"]]})) == 2
    assert scenario.cells(axes={"flows.dccp.dccp": [{"ccid": 2}, {"ccid": 3}]}) == ["ccid-2", "ccid-3"]


def test_other_threads_run_meanwhile() -> None:
    """The interpreter is free while runs are computed."""
    ticks = 0
    stop = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not stop.wait(0.001):
            ticks += 1

    thread = threading.Thread(target=tick)
    thread.start()
    fw.run(DUMBBELL, seeds=4, duration="20s")
    stop.set()
    thread.join()
    assert ticks > 10


def test_two_threads_may_run_at_once() -> None:
    digests: list[list[str]] = []

    def work() -> None:
        digests.append(fw.run(DUMBBELL, seeds=1, duration="2s").runs.column("digest"))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(digests) == 3 and digests[0] == digests[1] == digests[2]


def test_a_progress_function_sees_shares_and_may_stop() -> None:
    """Its own exception comes out, with the finished runs."""
    shares: list[float] = []
    error = RuntimeError("enough")

    def stop(share: float) -> None:
        shares.append(share)
        if len(shares) == 3:
            raise error

    with pytest.raises(RuntimeError) as caught:
        fw.run(DUMBBELL, seeds=1_000, progress=stop)
    assert caught.value is error
    assert error.results.partial and len(error.results) < 1_000  # type: ignore[attr-defined]
    assert shares == sorted(shares) and 0 <= shares[0] <= shares[-1] <= 1


def test_progress_ends_with_everything() -> None:
    """Also if the runs are over before there is time for more."""
    shares: list[float] = []
    fw.run(DUMBBELL, seeds=1, duration="1s", progress=shares.append)
    assert shares[-1] == 1.0 and shares == sorted(shares)


def test_a_text_stays_a_text() -> None:
    """What looks like a number on the command line is a text in Python if it is a str."""
    key = "flows.dccp.dccp.ccid"
    with pytest.raises(fw.ScenarioError, match=r'set\["flows.dccp.dccp.ccid"\] = "3"'):
        fw.run(DUMBBELL, set={key: "3"})
    with pytest.raises(fw.ScenarioError, match=r'axes\["flows.dccp.dccp.ccid"\]'):
        fw.run(DUMBBELL, axes={key: ["3"]})
    assert fw.Scenario(DUMBBELL).cells(set={"title": "5"}, axes={key: [2, 3]}) == ["ccid2", "ccid3"]


def test_a_scenario_is_a_path_or_values() -> None:
    for wrong in (None, 5, ["a"]):
        with pytest.raises(TypeError, match="path of a file, a dict or a Scenario, and not"):
            fw.run(wrong)  # type: ignore[arg-type]


def test_ctrl_c_keeps_finished_runs() -> None:
    program = f"""
import sys, fairwire as fw
def progress(share):
    if share > 0.002: print("under way", flush=True)
try:
    fw.run({str(DUMBBELL)!r}, seeds=10_000, duration="2s", progress=progress)
except KeyboardInterrupt as interrupt:
    print("kept", len(interrupt.results), interrupt.results.partial)
"""
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "under way\n"
    os.kill(child.pid, signal.SIGINT)
    rest, _ = child.communicate(timeout=60)
    _, kept, partial = rest.splitlines()[-1].split()
    assert int(kept) > 0 and partial == "True"


def test_a_forked_child_runs() -> None:
    """Runs use no thread that a fork would lose."""
    fw.run(DUMBBELL, seeds=1, duration="1s")
    child = os.fork()
    if child == 0:
        ok = len(fw.run(DUMBBELL, seeds=1, duration="1s")) > 0
        os._exit(0 if ok else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of `paper`."""
    return tmp_path_factory.mktemp("paper") / "runs"


@pytest.fixture(scope="module")
def paper(runs: Path) -> fw.PaperResults:
    return fw.paper("satellite", seeds=1, store=runs)


def test_a_paper_has_verdicts(paper: fw.PaperResults) -> None:
    assert "voip" in fw.papers()
    assert {"reproduced"} <= {word.split()[0] for word in paper.verdicts.column("verdict")}
    assert "<table>" in paper._repr_html_() and str(paper)
    for word, condition in zip(paper.verdicts.column("verdict"), paper.verdicts.column("condition"), strict=True):
        assert (word == "reproduced under a condition") == bool(condition)
    assert {type(close) for close in paper.verdicts.column("close")} == {bool}
    with pytest.raises(fw.PaperError, match="nowhere"):
        fw.paper("nowhere")


def test_a_paper_keeps_its_runs(paper: fw.PaperResults, runs: Path, tmp_path: Path) -> None:
    """With a store it runs only what is missing there, and has the same verdicts."""
    shares: list[float] = []
    kept = len(fw.Store(runs))
    again = fw.paper("satellite", seeds=1, store=runs, progress=shares.append)
    assert str(again) == str(paper)
    assert again.results.runs.column("digest") == paper.results.runs.column("digest")
    # Nothing was left to do.
    assert set(shares) <= {0.0, 1.0} and len(fw.Store(runs)) == kept > 0
    (tmp_path / "file").write_text("mine")
    with pytest.raises(fw.StoreError, match="is a file, and a store is a folder"):
        fw.paper("satellite", store=tmp_path / "file")
    with pytest.raises(TypeError, match="^store is the path of a folder, and not 3$"):
        fw.paper("satellite", store=3)  # type: ignore[arg-type]


def test_a_quick_paper_has_its_own_number_of_seeds() -> None:
    """As the command refuses `--quick` with `--seeds`."""
    with pytest.raises(ValueError, match="^the argument 'quick' cannot be used with 'seeds'$"):
        fw.paper("satellite", quick=True, seeds=3)


def test_a_paper_may_be_a_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its path, or by the name of a directory beside us, as the command takes it."""
    shutil.copytree(DUMBBELL.parents[1] / "papers" / "satellite", tmp_path / "mine")
    monkeypatch.chdir(tmp_path)
    for paper in (tmp_path / "mine", Path("mine"), "mine"):
        with pytest.raises(fw.Interrupted):
            fw.paper(paper, seeds=1, progress=interrupt)
    with pytest.raises(TypeError, match="^a paper is its name or the path of its directory, and not 3$"):
        fw.paper(3)  # type: ignore[arg-type]


def interrupt(share: float) -> None:
    raise KeyboardInterrupt
