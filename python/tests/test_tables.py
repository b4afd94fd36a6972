"""Tables: types of columns, what counts in a mean, and the order of what was given."""

import datetime
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import fairwire as fw
import pytest

DUMBBELL = Path(__file__).parents[2] / "scenarios" / "dumbbell.toml"
CCID, DELAY, QUEUE = "flows.dccp.dccp.ccid", "topology.bottleneck.delay", "topology.bottleneck.queue"


@pytest.fixture(scope="module")
def results() -> fw.Results:
    return fw.run(DUMBBELL, seeds=2, duration="1s", axes={CCID: [2, 3], DELAY: ["5 ms", "1 s"]})


def test_axes_of_numbers_are_numbers(results: fw.Results) -> None:
    """They compare, and join with a frame of numbers."""
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    frame, table = results.summary.df, results.summary.pl
    assert str(frame[CCID].dtype) == "int64" and set(frame[CCID]) == {2, 3}
    assert 0 < len(frame[frame[CCID] == 2]) == len(frame[frame[CCID] < 3]) < len(frame)
    names = {CCID: [2, 3], "name": ["a", "b"]}
    assert len(frame.merge(pandas.DataFrame(names), on=CCID)) == len(frame)
    assert len(table.join(polars.DataFrame(names), on=CCID)) == len(table)
    assert len(table.filter(polars.col(CCID) == 2)) == len(frame[frame[CCID] == 2])


def test_quantities_have_a_column_of_numbers(results: fw.Results) -> None:
    """Beside the texts that were given, in the order in which they were given, in one unit that the name states."""
    pytest.importorskip("pandas")
    for frame in (results.df, results.summary.df, results.mean("goodput", "dccp").df, results.series("cwnd").df):
        assert list(frame[DELAY].cat.categories) == ["5 ms", "1 s"]
        numbers = frame[f"{DELAY}_s"]
        assert str(numbers.dtype) == "float64" and set(numbers) == {0.005, 1.0}
        assert set(frame[DELAY][numbers > 0.5]) == {"1 s"}
    mixed = fw.run(DUMBBELL, seeds=1, duration="1s", axes={QUEUE: ["20 packets", "codel"]})
    assert set(mixed.runs.column(QUEUE)) == {"20 packets", "codel"} and f"{QUEUE}_packets" not in mixed.runs.names


def test_a_sweep_has_the_same_types(results: fw.Results, tmp_path: Path) -> None:
    swept = fw.sweep(DUMBBELL, seeds=2, duration="1s", axes={CCID: [2, 3], DELAY: ["5 ms", "1 s"]}, store=tmp_path)
    for table in ("values", "summary", "runs", "unperturbed"):
        one, other = getattr(swept, table), getattr(results, table)
        assert {name: one.column(name) for name in one.names} == {name: other.column(name) for name in other.names}


def test_the_unperturbed_run_is_no_seed() -> None:
    """It does not count in the first mean that anybody takes, and is there for those who ask."""
    pytest.importorskip("pandas")
    topology = {
        "kind": "dumbbell",
        "access": {"rate": "100 Mbit/s", "delay": "1 ms"},
        "bottleneck": {"rate": "2 Mbit/s", "delay": "20 ms", "queue": "20 packets"},
    }
    flow = {"traffic": "greedy", "wire": "1500 B"}
    flows = {"tcp": {**flow, "tcp": {}}, "dccp": {**flow, "dccp": {"ccid": 3}}}
    results = fw.run({"title": "t", "run": {"duration": "3 s"}, "topology": topology, "flows": flows}, seeds=2)
    frame = results.df
    goodput = frame[(frame.metric == "goodput") & (frame.of == "dccp") & (frame.window == "whole")]
    means = goodput.groupby("cell", observed=True)["value"].agg(["count", "mean"])
    expected = results.mean("goodput", "dccp").df.set_index("cell")
    assert set(means["count"]) == {2} and means["mean"].tolist() == pytest.approx(expected["mean"].tolist())
    series = results.series("throughput", "dccp", cell=results.cells[0])
    assert set(series.column("seed")) == {1, 2}
    alone = results.series("throughput", "dccp", cell=results.cells[0], unperturbed=True)
    assert set(alone.column("seed")) == {None} and len(alone) == len(series) // 2
    values = results.unperturbed
    assert values.names == results.values.names and set(values.column("seed")) == {None}
    rows = zip(*map(values.column, ("cell", "of", "metric", "window", "value")), strict=True)
    summary = results.summary
    said = zip(*map(summary.column, ("cell", "of", "metric", "window", "unperturbed")), strict=True)
    assert dict((row[:4], row[4]) for row in rows) == {row[:4]: row[4] for row in said if row[4] is not None}


def test_all_flows_together_are_all(results: fw.Results, tmp_path: Path) -> None:
    """In tables and in every call."""
    pytest.importorskip("matplotlib").use("Agg")
    kinds = zip(results.values.column("kind"), results.values.column("of"), strict=True)
    assert {of for kind, of in kinds if kind == "all"} == {"all"}
    mean = results.mean("jain").column("mean")
    assert results.mean("jain", "all").column("mean") == results.mean("jain", "").column("mean") == mean
    assert results.plot("jain", of="all").get_legend() is not None
    for of in (None, "all", ""):
        until = fw.Until("jain", of=of, within=0.9, least=2, most=3)
        assert len(fw.sweep(DUMBBELL, seeds=until, duration="1s", store=tmp_path)) >= 2
    pattern = fw.Until("goodput", of="*c*", within=0.9, least=2, most=3)
    assert len(fw.sweep(DUMBBELL, seeds=pattern, duration="1s", store=tmp_path)) >= 2


GRAPH = """
title = "two parallel links"
[axes.rtt]
10ms = { d = "5 ms" }
50ms = { d = "25 ms" }
100ms = { d = "50 ms" }
[run]
duration = "2 s"
seeds = 1
[topology]
kind = "graph"
links.slow = { between = ["a", "b"], rate = "1 Mbit/s", delay = "{rtt.d}" }
links.fast = { between = ["a", "b"], rate = "9 Mbit/s", delay = "{rtt.d}" }
[flows.x]
sender = "a"
receiver = "b"
wire = "1500 B"
traffic = "greedy"
tcp = {}
"""


def test_a_dict_keeps_its_order(tmp_path: Path) -> None:
    """A scenario has the same results as a file and as a dict. Of two links the path takes the first."""
    tomllib = pytest.importorskip("tomllib")
    file = tmp_path / "graph.toml"
    file.write_text(GRAPH)
    values: dict[str, Any] = tomllib.loads(GRAPH)
    one, other = fw.run(file), fw.run(values)
    assert one.cells == other.cells and [cell.split("rtt")[-1].strip("-= ") for cell in one.cells] == ["10ms", "50ms", "100ms"]
    assert one.runs.column("digest") == other.runs.column("digest")
    assert all(mean > 10 for mean in other.mean("utilisation", "slow").column("mean"))
    odd = {"title": 'a "quoted" \\ title\nof two lines \x7f', **{key: value for key, value in values.items() if key != "title"}}
    assert fw.run(odd).runs.column("digest") == one.runs.column("digest")


def test_times_and_paths_may_be_those_of_python() -> None:
    ms = datetime.timedelta(milliseconds=1)
    one = fw.run(DUMBBELL, seeds=1, duration=1000 * ms, set={DELAY: 5 * ms})
    other = fw.run(DUMBBELL, seeds=1, duration="1s", set={DELAY: "5 ms"})
    assert one.runs.column("digest") == other.runs.column("digest")
    assert fw.Scenario(DUMBBELL).cells(axes={DELAY: [5 * ms, 1500 * ms]}) == ["delay5ms", "delay1500ms"]
    with pytest.raises(fw.ScenarioError, match="cannot read .*nowhere.trace"):
        fw.run(DUMBBELL, seeds=1, set={"topology.bottleneck.trace": Path("nowhere.trace")})


def test_a_law_in_python_runs_in_one_thread_by_default() -> None:
    """More would wait for the interpreter, and for each other."""
    threads: set[int] = set()

    class Counted:
        def increase(self, window: Any, acked: float) -> float:
            threads.add(threading.get_ident())
            return acked / float(window.cwnd)

        def cut(self, window: Any, signal: Any) -> float:
            return 0.5 * float(window.cwnd)

    fw.law("counted", version="1")(Counted)
    changes = {"flows.dccp.dccp.ccid2.law": "counted"}
    default = fw.run(DUMBBELL, seeds=4, duration="2s", set=changes)
    assert len(threads) == 1
    assert fw.run(DUMBBELL, seeds=4, duration="2s", set=changes, jobs=2).runs.column("digest") == default.runs.column("digest")


@pytest.mark.parametrize(
    ("call", "library", "extra"),
    [
        ("results.df", "pandas", "pandas"),
        ("results.pl", "polars", "polars"),
        ("results.plot()", "matplotlib.pyplot", "plot"),
    ],
)
def test_a_missing_library_is_named(call: str, library: str, extra: str) -> None:
    """The error says what to install."""
    program = f"""
import sys
for name in ("numpy", "pandas", "polars", "matplotlib"):
    sys.modules[name] = None
import fairwire as fw
results = fw.run({str(DUMBBELL)!r}, seeds=1, duration="100ms")
try:
    {call}
except ImportError as error:
    print(error)
"""
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert f"needs {library}, which cannot be imported" in child.stdout
    assert f'pip install "fairwire[{extra}]"' in child.stdout
