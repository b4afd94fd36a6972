"""What a plot shows: means over the seeds, arranged in lines and in plots side by side."""

from __future__ import annotations

import datetime
import functools
import operator
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from fairwire._scale import is_same

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fairwire.results import Results

# The greatest number of flows that are drawn if none are asked for, as in the report of a run.
_MOST = 4

_SUBJECT = "of"
"""The name of a facet that has a plot for each flow or link."""


class Point(NamedTuple):
    """A mean over the seeds."""

    cell: str
    subject: str
    unit: str
    mean: float
    half: float
    x: str
    """Its value of the horizontal axis."""
    values: dict[str, str]
    """Its value of each axis, and of "cell"."""


class Panel(NamedTuple):
    """Where a point is: its values of the axes that have plots side by side."""

    row: str
    column: str


class Selection(NamedTuple):
    """What is drawn."""

    points: list[Point]
    """In the order of the cells."""
    subjects: list[str]
    """The flows and links in the order of the lines."""
    x: str
    rows: str | None
    columns: str | None
    along: list[str]
    """The axes whose values make lines."""
    names: dict[str, str]
    """What to call each axis."""

    @property
    def places(self) -> list[str]:
        """The values of the horizontal axis, in the order of the cells."""
        return self.values(self.x)

    def values(self, axis: str | None) -> list[str]:
        """Returns the values of an axis in the order of the cells; an empty one if there is no axis."""
        return self.subjects if axis == _SUBJECT else list(dict.fromkeys(_value(point, axis) for point in self.points))

    def panel(self, point: Point) -> Panel:
        """Returns the plot that a point is in."""
        return Panel(_value(point, self.rows), _value(point, self.columns))

    def lines(self) -> dict[str, list[Point]]:
        """Returns the lines by their labels: one for each subject and each combination of values of the axes `along`."""
        has_subjects = _SUBJECT not in (self.rows, self.columns)
        lines: dict[str, list[Point]] = {}
        for point in sorted(self.points, key=lambda point: self.subjects.index(point.subject)):
            subject = [point.subject] if has_subjects else []
            words = [*subject, *(f"{self.names[axis]} {point.values[axis]}" for axis in self.along)]
            lines.setdefault(", ".join(words), []).append(point)
        # Cells may differ in more than their axes. What is left of a name without its place on the line tells them apart.
        apart: Callable[[Point], str]
        for apart in (functools.partial(_stem, self.x), operator.attrgetter("cell")):
            for label, line in list(lines.items()):
                if len({(self.panel(point), point.x) for point in line}) < len(line):
                    del lines[label]
                    for point in line:
                        words = [label, apart(point)] if label else [apart(point)]
                        lines.setdefault(", ".join(words), []).append(point)
        return lines


def select(
    results: Results,
    metric: str,
    x: str | None,
    of: Sequence[str] | None,
    where: Mapping[str, Any] | None,
    facets: tuple[str | None, str | None],
    window: str | None,
    are_facets_wanted: bool,
) -> Selection:
    """Returns what to draw. Raises ValueError if there is none of it."""
    axes = results.axes
    x = (axes[0] if axes else "cell") if x is None else _axis("x", x, axes, ["cell"])
    rows, columns = facets
    rows = None if rows is None else _axis("rows", rows, axes, [_SUBJECT])
    columns = None if columns is None else _axis("columns", columns, axes, [_SUBJECT])
    given = [facet for facet in (x, rows, columns) if facet is not None]
    if len({*given}) < len(given):
        raise ValueError(f"x, rows and columns are different axes, and not {', '.join(given)}")
    cells = _cells(results, where)
    window, subjects = _subjects(results, metric, of, cells, window)
    points = _points(results, metric, subjects, cells, window, x)
    if not points:
        raise ValueError(f"no seed has {metric} of all of {', '.join(subjects)} in the window {window!r}")
    varied = [axis for axis in axes if x not in ("cell", axis) and len({point.values[axis] for point in points}) > 1]
    # The first of the other axes makes lines, the second and the third plots side by side.
    free = [axis for axis in varied if axis not in (rows, columns)]
    if are_facets_wanted:
        if columns is None and len(free) > 1:
            columns = free.pop(1)
        if rows is None and len(free) > 1:
            rows = free.pop(1)
    short = [axis.rsplit(".", 1)[-1] for axis in axes]
    names = {axis: name if short.count(name) == 1 else axis for axis, name in zip(axes, short, strict=True)}
    return Selection(points, list(subjects.values()), x, rows, columns, free, names)


def _value(point: Point, axis: str | None) -> str:
    """Returns a point's value of an axis; empty if there is no axis."""
    if axis is None:
        return ""
    return point.subject if axis == _SUBJECT else point.values[axis]


def _axis(argument: str, name: str, axes: list[str], others: list[str]) -> str:
    """Returns the axis that is called so, by its whole name or by the last part of it."""
    if name in [*axes, *others]:
        return name
    found = [axis for axis in axes if axis.rsplit(".", 1)[-1] == name]
    if len(found) > 1:
        raise ValueError(f"{argument}: {name!r} is the end of several axes: {', '.join(found)}")
    if not found:
        raise ValueError(f"{argument}: no axis {name!r}: there are {', '.join([*others, *axes])}")
    return found[0]


def _cells(results: Results, where: Mapping[str, Any] | None) -> dict[str, dict[str, str]]:
    """Returns the wanted cells, each with its values of all axes."""
    axes = results.axes
    texts = zip(results.cells, results._native.axis_texts, strict=True)
    all_cells = {cell: {**dict.fromkeys(axes, ""), **values, "cell": cell} for cell, values in texts}
    cells = all_cells
    for name, wanted in (where or {}).items():
        axis = _axis("where", name, axes, ["cell"])
        several = wanted if isinstance(wanted, (list, tuple, set, frozenset, range)) else [wanted]
        there = list(dict.fromkeys(values[axis] for values in all_cells.values()))
        chosen: set[str] = set()
        for value in map(_text, several):
            found = {it for it in there if is_same(it, value)}
            if not found:
                raise ValueError(f"where: no cell has {name} = {value}: there are {', '.join(there)}")
            chosen |= found
        cells = {cell: values for cell, values in cells.items() if values[axis] in chosen}
    if not cells:
        raise ValueError("where: no cell has all of these values")
    return cells


def _text(value: object) -> str:
    """Returns a value of an axis as its text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime.timedelta):
        return f"{value.total_seconds()!r} s"
    return str(value)


def _subjects(
    results: Results, metric: str, of: Sequence[str] | None, cells: Mapping[str, object], window: str | None
) -> tuple[str, dict[str, str]]:
    """Returns the window, and the flows, links and patterns to draw with what to call each."""
    table = results.summary
    all_metrics: set[str] = set()
    windows: dict[str, None] = {}
    kinds: dict[str, str] = {}
    names = ("cell", "metric", "window", "kind", "of", "mean")
    for cell, name, during, kind, subject, mean in zip(*map(table.column, names), strict=True):
        all_metrics.add(name)
        if name == metric and mean is not None and cell in cells:
            windows.setdefault(during)
            kinds.setdefault(subject, kind)
    if not kinds:
        raise ValueError(f"no values of {metric!r}: there are {', '.join(sorted(all_metrics))}")
    if window is None:
        window = next(iter(windows))
    elif window not in windows:
        raise ValueError(f"no {metric} in the window {window!r}: there are {', '.join(windows)}")
    if of is not None:
        unknown = [pattern for pattern in of if not any(_is_named(pattern, subject) for subject in kinds)]
        if unknown:
            raise ValueError(f"no {metric} of {', '.join(unknown)}: there are {', '.join(kinds)}")
        return window, {it or "all": f"mean of {it}" if "*" in it else it or "all" for it in of}
    # What the flows send, unless only links or all flows together have the metric.
    flows = [subject for subject, kind in kinds.items() if kind == "flow" and not subject.endswith("/back")]
    if len(flows) > _MOST:
        chosen = results._native.representatives(list(cells), _MOST)
        few = {flow: f"{flow} ({among})" if among else flow for flow, among in chosen if flow in flows}
        if few:
            return window, few
    return window, {subject: subject for subject in flows or kinds}


def _points(
    results: Results, metric: str, subjects: dict[str, str], cells: dict[str, dict[str, str]], window: str, x: str
) -> list[Point]:
    """Returns the means of the subjects; those of a pattern are over all that it matches, as in `Results.mean`."""
    points: list[Point] = []
    table = results.summary
    names = ("cell", "metric", "window", "of", "unit", "mean", "half_width_95")
    for cell, name, during, subject, unit, mean, half in zip(*map(table.column, names), strict=True):
        is_drawn = name == metric and during == window and subject in subjects and cell in cells
        if is_drawn and mean is not None:
            points.append(Point(cell, subjects[subject], unit, mean, half or 0.0, cells[cell][x], cells[cell]))
    for pattern in [name for name in subjects if "*" in name]:
        table = results.mean(metric, pattern, window=window)
        for cell, unit, mean, half in zip(*map(table.column, ("cell", "unit", "mean", "half_width_95")), strict=True):
            if mean is not None and cell in cells:
                points.append(Point(cell, subjects[pattern], unit, mean, half or 0.0, cells[cell][x], cells[cell]))
    order = {cell: number for number, cell in enumerate(cells)}
    return sorted(points, key=lambda point: order[point.cell])


def _stem(x: str, point: Point) -> str:
    """Returns the name of a cell without its value of an axis: `calm` for `calm-queue5packets`."""
    key, words = x.rsplit(".", 1)[-1], re.findall(r"[^\W_]+", point.x)
    value = r"\W*".join(map(re.escape, words))
    return re.sub(rf"(?<!\w)(?:{re.escape(key)}\W*)?{value}(?!\w)", "", point.cell).strip(" ,/-=") or point.cell


def _is_named(pattern: str, name: str) -> bool:
    """Returns whether a pattern matches a name. A star does not stand for a slash, as in `Results.mean`."""
    if name == "all":
        return pattern in ("all", "")
    parts = [re.escape(part) for part in pattern.split("*")]
    return re.fullmatch("[^/]*".join(parts), name) is not None
