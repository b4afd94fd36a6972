"""Running scenarios: arguments, results, errors, interruption."""

import json
import os
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
    rows = json.loads(results.to_json())
    assert [cell["name"] for cell in rows["cells"]] == results.cells
    summary = results.summary
    assert len(summary) > 0
    assert all(n in (0, 1, 2) for n in summary.column("n"))


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


def test_a_plot_has_a_line_for_each_flow(results: fw.Results) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = results.plot("goodput", of=["tcp", "dccp"])
    assert axes.get_xlabel() == "topology.bottleneck.queue, packets"
    assert axes.get_ylabel() == "goodput, Mbit/s"
    legend = axes.get_legend()
    assert legend is not None and [text.get_text() for text in legend.get_texts()] == ["tcp", "dccp"]
    with pytest.raises(ValueError, match="no values of 'nonsense'"):
        results.plot("nonsense")
    with pytest.raises(ValueError, match="no goodput of nobody: there are tcp"):
        results.plot("goodput", of=["tcp", "nobody"])
    with pytest.raises(ValueError, match="in the window 'never': there are whole"):
        results.plot("goodput", window="never")
    assert len(results.plot("goodput", of="*c*").get_legend_handles_labels()[1]) == 2, "no directions back"
    assert results.plot("delay_mean").get_ylabel() == "delay mean, ms"
    assert len(results.plot("utilisation").get_legend_handles_labels()[1]) == 2, "links, both ways"
    with pytest.raises(ValueError, match="no axis 'nonsense'"):
        results.plot("goodput", x="nonsense")


def test_a_capture_is_pcapng(results: fw.Results, tmp_path: Path) -> None:
    path = tmp_path / "run.pcapng"
    assert results.pcap(path, links=["bottleneck"]) > 100
    assert path.read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"
    with pytest.raises(OSError, match="cannot write"):
        results.pcap(tmp_path / "nowhere" / "run.pcapng")


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
    with pytest.raises(TypeError, match="flows.one: a value of type object"):
        fw.Scenario({"flows": {"one": object()}})  # type: ignore[dict-item]
    with pytest.raises(fw.ScenarioError, match="cannot read nowhere.toml"):
        fw.run("nowhere.toml")


def test_wrong_arguments_are_named() -> None:
    for arguments, text in [
        ({"seeds": 0}, "seeds is a number from 1"),
        ({"duration": "soon"}, "duration"),
        ({"jobs": 0}, "jobs is a number from 1"),
        ({"axes": {"run.seeds": ["1,2"]}}, "has a comma"),
    ]:
        with pytest.raises(ValueError, match=text):
            fw.run(DUMBBELL, **arguments)  # type: ignore[arg-type]
    with pytest.raises(fw.ScenarioError, match="nonsense"):
        fw.run(DUMBBELL, set={"nonsense": 1})


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
    shares: list[float] = []

    def stop(share: float) -> None:
        shares.append(share)
        if len(shares) == 3:
            raise RuntimeError("enough")

    with pytest.raises(fw.Interrupted) as caught:
        fw.run(DUMBBELL, seeds=1_000, progress=stop)
    assert caught.value.results.partial
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert shares == sorted(shares) and 0 <= shares[0] <= shares[-1] <= 1


def test_ctrl_c_keeps_finished_runs() -> None:
    program = f"""
import sys, fairwire as fw
def progress(share):
    if share > 0.002: print("under way", flush=True)
try:
    fw.run({str(DUMBBELL)!r}, seeds=10_000, progress=progress)
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


def test_a_paper_has_verdicts() -> None:
    assert "voip" in fw.papers()
    ran = fw.paper("satellite", seeds=1)
    assert {"reproduced"} <= {word.split()[0] for word in ran.verdicts.column("verdict")}
    assert "<table>" in ran._repr_html_() and str(ran)
    with pytest.raises(fw.PaperError, match="nowhere"):
        fw.paper("nowhere")
