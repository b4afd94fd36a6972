"""Plots of results: lines, plots side by side, and what is shown."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import fairwire as fw

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DUMBBELL = Path(__file__).parents[2] / "scenarios" / "dumbbell.toml"
QUEUE, DELAY = "topology.bottleneck.queue", "topology.bottleneck.delay"
CCID, LAW = "flows.dccp.dccp.ccid", "flows.tcp.tcp.law"


@pytest.fixture(autouse=True)
def _close() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def results() -> fw.Results:
    return fw.run(DUMBBELL, axes={QUEUE: ["5 packets", "20 packets"]}, seeds=2, duration="1s")


@pytest.fixture(scope="module")
def many() -> fw.Results:
    """Results of four axes."""
    axes = {DELAY: ["5 ms", "20 ms"], QUEUE: ["20 packets", "codel", "fq-codel"], CCID: [2, 3], LAW: ["newreno", "cubic"]}
    return fw.run(DUMBBELL, axes=axes, seeds=2, duration="500ms")


@pytest.fixture(scope="module")
def crowd() -> fw.Results:
    """Results of seven flows: one of DCCP, the others alike."""
    scenario = {
        "title": "a crowd",
        "run": {"duration": "1 s"},
        "topology": {
            "kind": "dumbbell",
            "access": {"rate": "100 Mbit/s", "delay": "1 ms"},
            "bottleneck": {"rate": "2 Mbit/s", "delay": "10 ms", "queue": "20 packets"},
        },
        "flows": {
            "dccp": {"traffic": "greedy", "wire": "1500 B", "dccp": {"ccid": 2}},
            **{f"f{number}": {"traffic": "greedy", "wire": "1500 B", "tcp": {}} for number in range(1, 7)},
        },
    }
    return fw.run(scenario, axes={DELAY: ["5 ms", "20 ms"]}, seeds=3)


def shown(axes: Axes) -> list[Axes]:
    """Returns the plots beside one."""
    return [it for it in axes.figure.axes if it.get_visible()]


def labels(axes: Axes) -> list[str]:
    return axes.get_legend_handles_labels()[1]


def lines(axes: Axes) -> dict[str, tuple[list[float], list[float]]]:
    """Returns the points of each line."""
    import numpy
    from matplotlib.container import ErrorbarContainer

    bars = [bars for bars in axes.containers if isinstance(bars, ErrorbarContainer)]
    points = {str(it.get_label()): numpy.asarray(it.lines[0].get_data(), dtype=float).tolist() for it in bars}
    return {label: (across, heights) for label, (across, heights) in points.items()}


def test_a_plot_has_a_line_for_each_flow(results: fw.Results) -> None:
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
    assert len(labels(results.plot("goodput"))) == 2, "no directions back"
    assert results.plot("delay_mean").get_ylabel() == "delay mean, ms"
    assert len(labels(results.plot("utilisation"))) == 2, "links, both ways"
    with pytest.raises(ValueError, match="no axis 'nonsense'"):
        results.plot("goodput", x="nonsense")


def test_a_plot_converts_units() -> None:
    delays = ["500 us", "20 ms", "1 s"]
    results = fw.run(DUMBBELL, axes={"topology.bottleneck.delay": delays}, seeds=2, duration="1s")
    axes = results.plot("throughput", of="tcp")
    assert axes.get_xlabel() == "topology.bottleneck.delay, s"
    low, high = axes.dataLim.intervalx
    assert (low, high) == (pytest.approx(0.0005), 1.0)
    assert results.plot("throughput", "cell").get_xlabel() == "cell"


def test_a_plot_has_a_line_for_each_value_of_the_other_axes() -> None:
    queue, ccid = "topology.bottleneck.queue", "flows.dccp.dccp.ccid"
    results = fw.run(DUMBBELL, seeds=2, duration="2s", axes={queue: ["5 packets", "10 packets", "20 packets"], ccid: [2, 3]})
    means = results.summary
    columns = ("of", "metric", "window", queue, ccid, "mean")
    expected = {
        f"{of}, ccid {ccid}": [mean / 1e6 for *key, mean in rows]
        for of in ("tcp", "dccp")
        for ccid in ("2", "3")
        for rows in [
            [row for row in zip(*map(means.column, columns), strict=True) if row[:3] == (of, "goodput", "whole") and row[4] == int(ccid)]
        ]
    }
    axes = results.plot("goodput", queue, of=["tcp", "dccp"], window="whole")
    assert list(lines(axes)) == list(expected)
    for label, (across, heights) in lines(axes).items():
        assert across == [5, 10, 20] and heights == pytest.approx(expected[label])


def test_a_plot_has_a_line_for_cells_that_differ_otherwise() -> None:
    tomllib = pytest.importorskip("tomllib")
    text = DUMBBELL.read_text() + "[cells.calm]\n[cells.lossy.topology.bottleneck]\nloss = '1 %'\n"
    results = fw.run(
        tomllib.loads(text), seeds=2, duration="1s", axes={"topology.bottleneck.queue": ["5 packets", "10 packets"]}
    )
    assert labels(results.plot("goodput", of="dccp")) == ["dccp, calm", "dccp, lossy"]


def test_further_axes_make_plots_side_by_side(many: fw.Results) -> None:
    """Of four axes one is horizontal, one makes lines, one columns and one rows of plots, all on the same scales."""
    first = many.plot("delay_mean")
    plots = shown(first)
    assert plots[0] is first
    titles = [axes.get_title() for axes in plots]
    assert titles == [f"ccid {ccid}\nlaw {law}" for law in ("newreno", "cubic") for ccid in (2, 3)]
    queues = ("20 packets", "codel", "fq-codel")
    assert all(labels(axes) == [f"{of}, queue {queue}" for of in ("tcp", "dccp") for queue in queues] for axes in plots)
    assert len({axes.get_ylim() for axes in plots}) == len({axes.get_xlim() for axes in plots}) == 1
    summary = many.summary
    keys = (DELAY, QUEUE, CCID, LAW, "of", "metric")
    means = dict(zip(zip(*map(summary.column, keys), strict=True), summary.column("mean"), strict=True))
    for axes, (law, ccid) in zip(plots, ((law, ccid) for law in ("newreno", "cubic") for ccid in (2, 3)), strict=True):
        expected = [means[delay, "codel", ccid, law, "dccp", "delay_mean"] * 1e3 for delay in ("5 ms", "20 ms")]
        across, heights = lines(axes)["dccp, queue codel"]
        assert across == [5, 20] and heights == pytest.approx(expected)


def test_nothing_of_a_plot_covers_anything_else(many: fw.Results) -> None:
    """Neither does the legend hide lines, nor a heading, a label or a value another one; also with names of cells below."""
    arguments: list[dict[str, Any]] = [{}, {"x": "cell"}, {"x": "queue", "columns": "of"}, {"x": "law", "columns": "delay"}]
    for chosen in arguments:
        figure = many.plot("delay_mean", **chosen).figure
        figure.canvas.draw()
        plots = [axes for axes in figure.axes if axes.get_visible()]
        texts = [axes.title for axes in plots] + [text for axes in plots for text in axes.get_xticklabels()]
        texts = [text for text in texts if text.get_text() and text.get_visible()]
        rotated = {text.get_rotation() for text in texts}
        boxes = [text.get_window_extent() for text in texts if text.get_rotation() in (0, 90)]
        boxes += [axes.get_window_extent() for axes in plots] + [legend.get_window_extent() for legend in figure.legends]
        for number, one in enumerate(boxes):
            assert not any(one.overlaps(other) for other in boxes[number + 1 :]), (chosen, number, rotated)
            inside = figure.bbox.padded(1)
            assert inside.contains(one.x0, one.y0) and inside.contains(one.x1, one.y1), chosen
        assert len(plots) == 1 or figure.legends, "one legend for all plots"


def test_lines_beyond_the_colours_differ(many: fw.Results) -> None:
    """In one plot 24 lines have 24 styles."""
    _, own = plt.subplots()
    axes = many.plot("goodput", "delay", ax=own)
    assert axes is own and axes.figure.axes == [own], "with ax all is in one plot"
    assert len(labels(axes)) == 2 * 3 * 2 * 2
    styles = {(line.get_color(), line.get_linestyle()) for line in axes.get_lines() if line.get_linestyle() != "None"}
    assert len(styles) == 24
    with pytest.raises(ValueError, match="ax is one plot: leave out ax, or rows and columns"):
        many.plot("goodput", ax=own, rows="ccid")


def test_the_axes_of_columns_and_rows_can_be_chosen(many: fw.Results) -> None:
    first = many.plot("goodput", "queue", columns="of", rows="delay", where={"law": "cubic"})
    titles = [axes.get_title() for axes in shown(first)]
    assert titles == [f"{of}\ndelay {delay}" for delay in ("5 ms", "20 ms") for of in ("tcp", "dccp")]
    assert labels(first) == ["ccid 2", "ccid 3"]
    assert [text.get_text() for text in shown(first)[-1].get_xticklabels()] == ["20 packets", "codel", "fq-codel"]
    with pytest.raises(ValueError, match=f"rows: no axis 'nonsense': there are of, {DELAY}"):
        many.plot("goodput", rows="nonsense")
    with pytest.raises(ValueError, match=f"x, rows and columns are different axes, and not {DELAY}, {DELAY}"):
        many.plot("goodput", rows="delay")


def test_many_columns_make_several_rows() -> None:
    """Five plots that differ in one value are three and two, and those of the lower edge have values below them."""
    delays = [f"{delay} ms" for delay in (1, 2, 3, 4, 5)]
    results = fw.run(DUMBBELL, axes={QUEUE: ["5 packets", "20 packets"], DELAY: delays}, seeds=2, duration="200ms")
    plots = shown(results.plot("throughput", columns="delay"))
    assert [axes.get_title() for axes in plots] == [f"delay {delay}" for delay in delays]
    places = [axes.get_subplotspec() for axes in plots]
    assert [place.get_gridspec().get_geometry() for place in places if place] == [(2, 3)] * 5
    assert [any(label.get_visible() for label in axes.get_xticklabels()) for axes in plots] == [False, False, True, True, True]


def test_a_filter_chooses_cells(many: fw.Results) -> None:
    """By values of axes as they are written, as numbers, in another unit, or several; by names of cells."""
    first = many.plot("goodput", where={"ccid": 3, LAW: "cubic", "queue": ["codel", "fq-codel"]})
    assert shown(first) == [first]
    assert labels(first) == [f"{of}, queue {queue}" for of in ("tcp", "dccp") for queue in ("codel", "fq-codel")]
    for delay in ("20 ms", "0.02 s", datetime.timedelta(milliseconds=20)):
        only = many.plot("goodput", "queue", where={"delay": delay, "ccid": "3"}, of="dccp")
        assert labels(only) == ["dccp, law newreno", "dccp, law cubic"]
    cell = many.cells[3]
    assert list(lines(many.plot("goodput", "cell", where={"cell": cell}))) == ["tcp", "dccp"]
    with pytest.raises(ValueError, match="where: no cell has ccid = 4: there are 2, 3"):
        many.plot("goodput", where={"ccid": 4})
    with pytest.raises(ValueError, match=f"where: no axis 'rate': there are cell, {DELAY}"):
        many.plot("goodput", where={"rate": "1 Mbit/s"})
    with pytest.raises(ValueError, match="where: no cell has all of these values"):
        many.plot("goodput", where={"cell": cell, "law": "newreno" if "cubic" in cell else "cubic"})
    with pytest.raises(TypeError, match="where is a dict from axes to values, and not 'ccid'"):
        many.plot("goodput", where="ccid")  # type: ignore[arg-type]


def test_a_pattern_is_a_mean(crowd: fw.Results) -> None:
    """As in `mean`, seed by seed, with that interval."""
    axes = crowd.plot("goodput", of=["dccp", "f*"])
    assert labels(axes) == ["dccp", "mean of f*"]
    mean = crowd.mean("goodput", "f*")
    across, heights = lines(axes)["mean of f*"]
    scale = 1e6 if axes.get_ylabel().endswith("Mbit/s") else 1e3
    assert across == [5, 20] and heights == pytest.approx([it / scale for it in mean.column("mean")])
    segments = axes.containers[1].lines[2][0].get_segments()  # type: ignore[attr-defined]
    halves = [(segment[1][1] - segment[0][1]) / 2 for segment in segments]
    assert halves == pytest.approx([it / scale for it in mean.column("half_width_95")])


def test_of_many_flows_one_of_each_kind_is_drawn(crowd: fw.Results) -> None:
    """As in the report of a run; all flows can be asked for."""
    assert labels(crowd.plot("goodput")) == ["dccp", "f1 (one of 6 alike)"]
    flows = [f"f{number}" for number in range(1, 7)]
    assert labels(crowd.plot("goodput", of=flows)) == flows
