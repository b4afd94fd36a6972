"""Plots of results with matplotlib."""

from __future__ import annotations

import itertools
import textwrap
from typing import TYPE_CHECKING, Any, NamedTuple

from fairwire._arguments import library
from fairwire._lines import Panel, Point, Selection, select
from fairwire._scale import scale, scaled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import matplotlib.axes

    from fairwire.results import Results

# Sizes in inches: of a plot that is alone, of one beside others, and of a character of a label.
_ALONE = (6.4, 4.8)
_BESIDE = (2.8, 2.2)
_CHARACTER = 0.08
# The greatest number of plots side by side, unless each row of plots has a value.
_WIDE = 4
# A longer legend stands beside the plot, where it hides nothing.
_SHORT_LEGEND = 6
_LEGEND_ROWS = 25


class _Scales(NamedTuple):
    """How values become positions."""

    at: dict[str, float]
    """The position of each value of the horizontal axis."""
    are_numbers: bool
    """Whether those are numbers of one quantity."""
    factor: float
    """What to divide means by."""
    x_label: str
    y_label: str


def plot(
    results: Results,
    metric: str,
    x: str | None,
    of: Sequence[str] | None,
    where: Mapping[str, Any] | None,
    facets: tuple[str | None, str | None],
    window: str | None,
    ax: matplotlib.axes.Axes | None,
) -> matplotlib.axes.Axes:
    """Draws a metric over an axis, with 95 % intervals. Returns the first plot, whose figure has the others."""
    plt = library("matplotlib.pyplot", "plot", ".plot()")
    if ax is not None and facets != (None, None):
        raise ValueError("ax is one plot: leave out ax, or rows and columns")
    chosen = select(results, metric, x, of, where, facets, window, are_facets_wanted=ax is None)
    lines = chosen.lines()
    scales = _scales(chosen, metric)
    panels = _panels(chosen)
    is_alone = ax is not None or (len(panels) == 1 and len(panels[0]) == 1)
    if ax is None and not (is_alone and len(lines) <= _SHORT_LEGEND):
        return _draw_many(plt, panels, lines, scales, chosen)
    if ax is None:
        width, height = _ALONE
        _, ax = plt.subplots(figsize=(width, height + _below(scales, width)), layout="constrained")
    assert ax is not None
    _draw(ax, lines, scales, ax.get_window_extent().width / ax.figure.dpi)
    ax.set_xlabel(scales.x_label)
    ax.set_ylabel(scales.y_label)
    if any(lines):
        ax.legend()
    return ax


def _draw_many(
    plt: Any, panels: list[list[Panel | None]], lines: dict[str, list[Point]], scales: _Scales, chosen: Selection
) -> matplotlib.axes.Axes:
    """Draws plots side by side on the same scales, with one legend beside them."""
    down, across = len(panels), len(panels[0])
    legend_columns = -(-len(lines) // _LEGEND_ROWS)
    beside = legend_columns * (_CHARACTER * max(map(len, lines)) + 0.6)
    legend_height = 0.2 * min(len(lines), _LEGEND_ROWS) + 0.4
    width, height = _ALONE if down == across == 1 else (_BESIDE[0] * across + 0.4, _BESIDE[1] * down + 0.4)
    figure, grid = plt.subplots(
        down,
        across,
        sharex=True,
        sharey=True,
        squeeze=False,
        layout="constrained",
        figsize=(width + beside, max(height + _below(scales, _BESIDE[0]), legend_height)),
    )
    handles: dict[str, Any] = {}
    for (row, column), panel in ((at, panels[at[0]][at[1]]) for at in itertools.product(range(down), range(across))):
        axes = grid[row, column]
        if panel is None:
            axes.set_visible(False)
            continue
        here = {label: [point for point in line if chosen.panel(point) == panel] for label, line in lines.items()}
        for handle in _draw(axes, here, scales, _BESIDE[0]):
            handles.setdefault(handle.get_label(), handle)
        axes.set_title(_heading(chosen, panel), fontsize="small")
        if row + 1 == down or panels[row + 1][column] is None:
            axes.tick_params(labelbottom=True)
    figure.supxlabel(scales.x_label, fontsize="medium")
    figure.supylabel(scales.y_label, fontsize="medium")
    if any(lines):
        order = [label for label in lines if label in handles]
        shown = [handles[label] for label in order]
        figure.legend(shown, order, loc="outside right upper", fontsize="small", ncols=legend_columns)
    first: matplotlib.axes.Axes = next(axes for axes, panel in zip(grid.flat, itertools.chain(*panels), strict=True) if panel)
    return first


def _draw(axes: matplotlib.axes.Axes, lines: dict[str, list[Point]], scales: _Scales, width: float) -> list[Any]:
    """Draws lines into a plot of a width in inches, and returns them. A line has the same style in every plot."""
    colours = [f"C{number}" for number in range(10)]
    styles = itertools.cycle(itertools.product([("-", "o"), ("--", "s"), (":", "D"), ("-.", "^")], colours))
    drawn: list[Any] = []
    for (label, line), ((dashes, marker), colour) in zip(lines.items(), styles):  # noqa: B905 (the styles have no end)
        points = sorted((scales.at[point.x], point.mean / scales.factor, point.half / scales.factor) for point in line)
        if points:
            positions, means, halves = zip(*points, strict=True)
            style: dict[str, Any] = {"color": colour, "linestyle": dashes, "marker": marker, "markersize": 4, "capsize": 3}
            drawn.append(axes.errorbar(positions, means, yerr=halves, label=label, **style))
    axes.grid(alpha=0.3)
    if not scales.are_numbers:
        angle = _angle(scales, width)
        turned: dict[str, Any] = {"rotation": angle, "rotation_mode": "anchor", "ha": "right", "va": "center"} if angle else {}
        axes.set_xticks(list(scales.at.values()), list(scales.at), **turned)
    return drawn


def _angle(scales: _Scales, width: float) -> int:
    """Returns by how much to turn the values below a plot, so that they do not cover each other."""
    if scales.are_numbers or _CHARACTER * sum(len(text) + 2 for text in scales.at) <= width:
        return 0
    return 30 if len(scales.at) * 5 * _CHARACTER <= width else 90


def _below(scales: _Scales, width: float) -> float:
    """Returns the room in inches that turned values need below a plot."""
    share = {0: 0.0, 30: 0.5, 90: 1.0}[_angle(scales, width)]
    return share * _CHARACTER * max(map(len, scales.at))


def _scales(chosen: Selection, metric: str) -> _Scales:
    places = chosen.places
    # An axis whose values are numbers of one quantity gets a scale, any other one a position for each value.
    numbers, x_unit = scaled(places) or (range(len(places)), "")
    factor, unit = scale(chosen.points[0].unit, max(abs(point.mean) for point in chosen.points))
    name = metric.replace("_", " ")
    return _Scales(
        at=dict(zip(places, numbers, strict=True)),
        are_numbers=scaled(places) is not None,
        factor=factor,
        x_label=f"{chosen.x}, {x_unit}" if x_unit else chosen.x,
        y_label=f"{name}, {unit}" if unit else name,
    )


def _panels(chosen: Selection) -> list[list[Panel | None]]:
    """Returns the plots in rows of the same length; None where there is no cell."""
    there = {chosen.panel(point) for point in chosen.points}
    rows, columns = chosen.values(chosen.rows), chosen.values(chosen.columns)
    grid = [[Panel(row, column) for column in columns] for row in rows]
    if len(rows) == 1 and len(columns) > _WIDE:
        # As square as it gets.
        wide = min(_WIDE, -(-len(columns) // -(-len(columns) // _WIDE)))
        grid = [grid[0][at : at + wide] for at in range(0, len(columns), wide)]
    wide = max(map(len, grid))
    shown = [[panel if panel in there else None for panel in row] for row in grid]
    return [row + [None] * (wide - len(row)) for row in shown]


def _heading(chosen: Selection, panel: Panel) -> str:
    """Returns the values that a plot is of."""
    both = ((chosen.columns, panel.column), (chosen.rows, panel.row))
    words = [value if facet == "of" else f"{chosen.names[facet]} {value}" for facet, value in both if facet is not None]
    return "\n".join(textwrap.fill(word, 36) for word in words)
