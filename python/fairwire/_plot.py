"""Plots of results with matplotlib."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import matplotlib.axes

    from fairwire.results import Results


def plot(
    results: Results,
    metric: str,
    x: str | None,
    of: str | Sequence[str] | None,
    window: str | None,
    ax: matplotlib.axes.Axes | None,
) -> matplotlib.axes.Axes:
    """Draws a metric over an axis, a line for each subject, with 95 % intervals."""
    import matplotlib.pyplot as plt

    table = results.summary
    if x is None:
        x = results.axes[0] if results.axes else "cell"
    if x not in table.names:
        raise ValueError(f"no axis {x!r}: there are {', '.join(['cell', *results.axes])}")
    rows = list(
        zip(
            *(table.column(name) for name in ("of", "metric", "unit", "window", x, "mean", "half_width_95", "kind")),
            strict=True,
        )
    )
    metrics = sorted({row[1] for row in rows})
    rows = [row for row in rows if row[1] == metric and row[5] is not None]
    if not rows:
        raise ValueError(f"no values of {metric!r}: there are {', '.join(metrics)}")
    window = window or rows[0][3]
    wanted = [of] if isinstance(of, str) else of
    subjects = list(dict.fromkeys(row[0] for row in rows))
    if wanted is not None:
        found = {pattern: [name for name in subjects if _is_named(pattern, name)] for pattern in wanted}
        unknown = [pattern for pattern, names in found.items() if not names]
        if unknown:
            raise ValueError(f"no {metric} of {', '.join(unknown)}: there are {', '.join(subjects)}")
        subjects = list(dict.fromkeys(name for names in found.values() for name in names))
    else:
        # What the flows send, unless only links or all flows together have the metric.
        flows = [name for kind, name in dict.fromkeys((row[7], row[0]) for row in rows) if kind == "flow"]
        subjects = [name for name in flows if not name.endswith("/back")] or subjects
    places = list(dict.fromkeys(row[4] for row in rows))
    numbers = [_number(place) for place in places]
    # An axis whose values are numbers with one unit gets a scale, any other one a place for each value.
    units = {unit for _, unit in numbers}
    is_scaled = len(units) == 1 and all(number is not None for number, _ in numbers)
    at = {place: number if is_scaled else i for i, (place, (number, _)) in enumerate(zip(places, numbers, strict=True))}
    drawn = [row for row in rows if row[0] in subjects and row[3] == window]
    if not drawn:
        raise ValueError(f"no {metric} in the window {window!r}: there are {', '.join(dict.fromkeys(r[3] for r in rows))}")
    factor, unit = _scale(rows[0][2], max(abs(row[5]) for row in drawn))
    if ax is None:
        _, ax = plt.subplots()
    for subject in subjects:
        points = sorted((at[row[4]], row[5], row[6] or 0.0) for row in rows if row[0] == subject and row[3] == window)
        across, means, halves = zip(*points, strict=True)
        means, halves = (tuple(value / factor for value in values) for values in (means, halves))
        ax.errorbar(across, means, yerr=halves, marker="o", capsize=3, label=subject or "all")
    ax.grid(alpha=0.3)
    ax.set_ylabel(f"{metric.replace('_', ' ')}, {unit}" if unit else metric.replace("_", " "))
    if is_scaled:
        ax.set_xlabel(f"{x}, {units.pop()}".rstrip(", "))
    else:
        ax.set_xlabel(x)
        ax.set_xticks(range(len(places)), places)
    ax.legend()
    return ax


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


def _number(text: str) -> tuple[float | None, str]:
    """Splits "10 packets" into its number and its unit."""
    found = re.fullmatch(r"\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*(.*)", text)
    if found is None:
        return None, text
    try:
        return float(found[1]), found[2]
    except ValueError:
        return None, text
