"""Plots of results with matplotlib."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, NamedTuple

from fairwire._arguments import library

if TYPE_CHECKING:
    from collections.abc import Sequence

    import matplotlib.axes

    from fairwire.results import Results


def plot(
    results: Results,
    metric: str,
    x: str | None,
    of: Sequence[str] | None,
    window: str | None,
    ax: matplotlib.axes.Axes | None,
) -> matplotlib.axes.Axes:
    """Draws a metric over an axis, with 95 % intervals: a line for each subject and the values of the other axes."""
    plt = library("matplotlib.pyplot", "plot", ".plot()")

    axes = results.axes
    if x is None:
        x = axes[0] if axes else "cell"
    if x != "cell" and x not in axes:
        raise ValueError(f"no axis {x!r}: there are {', '.join(['cell', *axes])}")
    metrics, rows = _rows(results, metric, x)
    if not rows:
        raise ValueError(f"no values of {metric!r}: there are {', '.join(metrics)}")
    window = window or rows[0].window
    subjects = _subjects(rows, metric, of)
    drawn = [row for row in rows if row.subject in subjects and row.window == window]
    if not drawn:
        windows = dict.fromkeys(row.window for row in rows)
        raise ValueError(f"no {metric} in the window {window!r}: there are {', '.join(windows)}")
    places = list(dict.fromkeys(row.place for row in rows))
    # An axis whose values are numbers of one quantity gets a scale, any other one a place for each value.
    scaled = _scaled(places)
    numbers, x_unit = scaled or (range(len(places)), "")
    at = dict(zip(places, numbers, strict=True))
    factor, unit = _scale(rows[0].unit, max(abs(row.mean) for row in drawn))
    if ax is None:
        _, ax = plt.subplots()
    for label, line in _lines(drawn, subjects, x, axes).items():
        points = sorted((at[row.place], row.mean / factor, row.half / factor) for row in line)
        across, means, halves = zip(*points, strict=True)
        ax.errorbar(across, means, yerr=halves, marker="o", capsize=3, label=label)
    ax.grid(alpha=0.3)
    ax.set_ylabel(f"{metric.replace('_', ' ')}, {unit}" if unit else metric.replace("_", " "))
    ax.set_xlabel(f"{x}, {x_unit}" if x_unit else x)
    if scaled is None:
        ax.set_xticks(range(len(places)), places)
    ax.legend()
    return ax


class _Row(NamedTuple):
    """A mean of the summary."""

    cell: str
    kind: str
    subject: str
    window: str
    unit: str
    mean: float
    half: float
    place: str
    """Its value of the axis that is drawn."""
    others: dict[str, str]
    """Its values of all axes."""


def _rows(results: Results, metric: str, x: str) -> tuple[list[str], list[_Row]]:
    """Returns the names of all metrics, and the means of one."""
    table = results.summary
    texts = dict(zip(results.cells, results._native.axis_texts, strict=True))
    names = ["cell", "kind", "of", "window", "unit", "mean", "half_width_95", "metric"]
    all_metrics: set[str] = set()
    rows: list[_Row] = []
    for cell, kind, of, window, unit, mean, half, name in zip(*map(table.column, names), strict=True):
        all_metrics.add(name)
        if name == metric and mean is not None:
            others = dict.fromkeys(results.axes, "") | texts[cell]
            place = cell if x == "cell" else others[x]
            rows.append(_Row(cell, kind, of, window, unit, mean, half or 0.0, place, others))
    return sorted(all_metrics), rows


def _subjects(rows: list[_Row], metric: str, wanted: Sequence[str] | None) -> list[str]:
    """Returns the names of the flows and links to draw."""
    subjects = list(dict.fromkeys(row.subject for row in rows))
    if wanted is not None:
        found = {pattern: [name for name in subjects if _is_named(pattern, name)] for pattern in wanted}
        unknown = [pattern for pattern, names in found.items() if not names]
        if unknown:
            raise ValueError(f"no {metric} of {', '.join(unknown)}: there are {', '.join(subjects)}")
        return list(dict.fromkeys(name for names in found.values() for name in names))
    # What the flows send, unless only links or all flows together have the metric.
    flows = [name for kind, name in dict.fromkeys((row.kind, row.subject) for row in rows) if kind == "flow"]
    return [name for name in flows if not name.endswith("/back")] or subjects


def _lines(rows: list[_Row], subjects: list[str], x: str, axes: list[str]) -> dict[str, list[_Row]]:
    """Returns the lines by their labels: one for each subject and each combination of values of the axes beside `x`."""
    others = [axis for axis in axes if x not in ("cell", axis)]
    varied = [axis for axis in others if len({row.others[axis] for row in rows}) > 1]
    short = {axis: axis.rsplit(".", 1)[-1] for axis in varied}
    names = {axis: name if list(short.values()).count(name) == 1 else axis for axis, name in short.items()}
    lines: dict[str, list[_Row]] = {}
    for row in sorted(rows, key=lambda row: subjects.index(row.subject)):
        label = ", ".join([row.subject, *(f"{names[axis]} {row.others[axis]}" for axis in varied)])
        lines.setdefault(label, []).append(row)
    # Cells may differ in more than their axes. What is left of a name without its place on the line tells them apart.
    for apart in (functools.partial(_stem, x), _cell):
        for label, line in list(lines.items()):
            if len({row.place for row in line}) < len(line):
                del lines[label]
                for row in line:
                    lines.setdefault(f"{label}, {apart(row)}", []).append(row)
    return lines


def _stem(x: str, row: _Row) -> str:
    """Returns the name of a cell without its value of an axis: `calm` for `calm-queue5packets`."""
    key, words = x.rsplit(".", 1)[-1], re.findall(r"[^\W_]+", row.place)
    value = r"\W*".join(map(re.escape, words))
    return re.sub(rf"(?<!\w)(?:{re.escape(key)}\W*)?{value}(?!\w)", "", row.cell).strip(" ,/-=") or row.cell


def _cell(row: _Row) -> str:
    return row.cell


def _is_named(pattern: str, name: str) -> bool:
    """Returns whether a pattern matches a name. A star does not stand for a slash, as in `Results.mean`."""
    parts = [re.escape(part) for part in pattern.split("*")]
    return re.fullmatch("[^/]*".join(parts), name) is not None


def _scale(unit: str, most: float) -> tuple[float, str]:
    """Returns what to divide values by, and the unit that they then have."""
    scales = {
        "bit/s": [(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")],
        "s": [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs")],
    }
    for factor, name in scales.get(unit, []):
        if most >= factor:
            return factor, name
    return 1.0, unit


# How much each unit is, in the first unit of its quantity.
_UNITS = [
    {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0},
    {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9},
    {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30},
    {"": 1.0, "%": 0.01},
]


def _scaled(places: list[str]) -> tuple[Sequence[float], str] | None:
    """Returns values as numbers with the largest of their units; None if they are not numbers of one quantity."""
    numbers: list[float] = []
    units: list[str] = []
    for place in places:
        number, unit = _number(place)
        if number is None:
            return None
        numbers.append(number)
        units.append(unit)
    if len({*units}) == 1:
        return numbers, units[0]
    for quantity in _UNITS:
        if all(unit in quantity for unit in units):
            largest = max(units, key=lambda unit: quantity[unit])
            return [n * quantity[unit] / quantity[largest] for n, unit in zip(numbers, units, strict=True)], largest
    return None


def _number(text: str) -> tuple[float | None, str]:
    """Splits "10 packets" into its number and its unit."""
    found = re.fullmatch(r"\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*(.*)", text)
    if found is None:
        return None, text
    try:
        return float(found[1]), found[2]
    except ValueError:
        return None, text
