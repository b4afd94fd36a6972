"""Quantities as numbers with a common unit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def scale(unit: str, most: float) -> tuple[float, str]:
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


def scaled(places: Sequence[str]) -> tuple[Sequence[float], str] | None:
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


def is_same(one: str, other: str) -> bool:
    """Returns whether two texts are the same value: also "500 ms" and "0.5 s"."""
    if one.strip() == other.strip():
        return True
    both = scaled([one, other])
    # A conversion of units rounds the last digits.
    return both is not None and abs(both[0][0] - both[0][1]) <= 1e-12 * max(map(abs, both[0]))


def _number(text: str) -> tuple[float | None, str]:
    """Splits "10 packets" into its number and its unit."""
    found = re.fullmatch(r"\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*(.*)", text)
    if found is None:
        return None, text
    try:
        return float(found[1]), found[2]
    except ValueError:
        return None, text
