"""Arguments of `fairwire.run` and `fairwire.sweep`: they are checked here, so that errors name them."""

from __future__ import annotations

import datetime
import importlib
import operator
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

_MOST_SEEDS = 10_000
_MOST_SEED = 2**64 - 1


def library(name: str, extra: str, what: str) -> Any:
    """Imports a library that not everybody needs. The ImportError says how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f'{what} needs {name}, which cannot be imported ({error}): pip install "fairwire[{extra}]", or {name} alone',
            name=name,
        ) from error


def counted(number: int, thing: str) -> str:
    """Returns a number of things, as "1 run" and "2 runs"."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def number(name: str, value: object, least: int, most: int | None = None) -> int:
    """Returns an argument as an int. Raises TypeError or ValueError, with its name and its range."""
    wanted = f"{name} is a number from {least}" + ("" if most is None else f" to {most}")
    try:
        found = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{wanted}, and not {value!r}") from None
    if isinstance(value, bool):
        raise TypeError(f"{wanted}, and not {value!r}")
    if found < least or (most is not None and found > most):
        raise ValueError(f"{wanted}, and not {found}")
    return found


def count_of_jobs(jobs: object) -> int | None:
    """Returns the argument `jobs`."""
    return None if jobs is None else number("jobs", jobs, 1, 1_024)


def count_of_seeds(seeds: object) -> int:
    """Returns the argument `seeds`, which is their number."""
    return number("seeds", seeds, 1, _MOST_SEEDS)


def first_seed(seed: object) -> int | None:
    """Returns the argument `seed`."""
    return None if seed is None else number("seed", seed, 0, _MOST_SEED)


def many_seeds(seeds: Iterable[object]) -> list[int]:
    """Returns the argument `seeds`, which has the seeds themselves."""
    found = [number(f"seeds[{i}]", seed, 0, _MOST_SEED) for i, seed in enumerate(seeds)]
    if not found:
        raise ValueError("seeds is empty: give at least one seed, or their number")
    return found


def text(name: str, value: object, what: str) -> str:
    """Returns an argument as a str. Raises TypeError, with its name and what it is."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is {what}, and not {value!r}")
    return value


def maybe_text(name: str, value: object, what: str) -> str | None:
    """Returns an argument that is a str or None."""
    return None if value is None else text(name, value, what)


def seconds(name: str, value: Any) -> None:
    """Checks an argument that is a number of seconds, or None."""
    if value is None:
        return
    wanted = f"{name} is a number of seconds from 0"
    try:
        fits = value >= 0
    except TypeError:
        raise TypeError(f"{wanted}, and not {value!r}") from None
    if not fits:
        raise ValueError(f"{wanted}, and not {value!r}")


def several(name: str, value: object, what: str) -> list[str]:
    """Returns an argument that is a text or several. `what` is what each is."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Iterable):
        raise TypeError(f"{name} has {what}, and not {value!r}")
    return [text(f"{name}[{i}]", item, f"a str, one of {what}") for i, item in enumerate(value)]


def folder(name: str, value: object) -> Path:
    """Returns an argument that is the path of a folder."""
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{name} is the path of a folder, and not {value!r}")
    if os.fspath(value) == "":
        raise ValueError(f'{name} is the path of a folder, and not "": "." is the present one')
    # Absolute: the working directory may change while a store is open.
    return Path(value).absolute()


def names(argument: str, wanted: object, what: str) -> list[str]:
    """Returns an argument that is a name or several. Raises TypeError or ValueError, with what they name."""
    if isinstance(wanted, str):
        return [wanted]
    if not isinstance(wanted, Iterable):
        raise TypeError(f"{argument} has the names of {what}, and not {wanted!r}")
    found = list(wanted)
    if not found:
        raise ValueError(f"{argument} is empty: give a name or a pattern of {what}, or None")
    for name in found:
        if not isinstance(name, str):
            raise TypeError(f"{argument} has the names of {what}, and not {name!r}")
    return found


def is_number(value: object) -> bool:
    """Returns whether a value is a whole number of any type, numpy's included."""
    try:
        operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


def changes(
    set: Mapping[str, Any] | None,
    axes: Mapping[str, Any] | None,
    only: str | Iterable[str] | None,
    duration: str | datetime.timedelta | None,
    seeds: int | None,
    seed: int | None,
    given_seeds: object = None,
) -> dict[str, Any]:
    """Returns the changes to a scenario as the native module takes them.

    given_seeds: the argument `seeds`, if it is `fw.Until` or a list.
    """
    if isinstance(duration, datetime.timedelta):
        duration = f"{duration // datetime.timedelta(microseconds=1)} us"
    if duration is not None and not isinstance(duration, str):
        raise TypeError(f"duration is a time with its unit, such as '20s', and not {duration!r}")
    settings = {} if set is None else _keys("set", set)
    varied = {} if axes is None else _keys("axes", axes)
    once: dict[str, tuple[str, object]] = {"run.duration": ("duration", duration), "run.seed": ("seed", seed)}
    once |= dict.fromkeys(("run.seeds", "run.max_seeds"), ("seeds", seeds if given_seeds is None else given_seeds))
    if isinstance(given_seeds, list):
        once["run.seed"] = ("seeds", given_seeds)
    varied = {name: _values(name, values) for name, values in varied.items()}
    places = [("set", path) for path in _paths(settings)]
    for key, values in varied.items():
        places += [("axes", path) for value in values for path in _paths({key: value})]
    for argument, path in places:
        name, value = once.get(path, ("", None))
        if value is not None:
            raise ValueError(f"{argument}[{path!r}] and {name} set the same: give one of them")
    return {
        "set": settings,
        "axes": varied,
        "only": None if only is None else names("only", only, "cells"),
        "duration": duration,
        "seeds": seeds,
        "seed": seed,
    }


def _paths(values: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Returns the dotted paths of keys, those of dicts in dicts included."""
    for key, value in values.items():
        path = f"{prefix}{key}"
        yield path
        # No scenario is as deep.
        if isinstance(value, Mapping) and path.count(".") < 64:
            yield from _paths(value, f"{path}.")


def _keys(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(values, Mapping):
        raise TypeError(f"{name} is a dict, and not {values!r}")
    for key in values:
        if not isinstance(key, str):
            raise TypeError(f"a key of {name} is {key!r}, and not a str")
    return dict(values)


def _values(name: str, values: Iterable[Any]) -> list[Any]:
    """Returns the values of an axis."""
    place = f"axes[{name!r}]"
    if isinstance(values, (str, bytes, Mapping)):
        raise TypeError(f"{place} is a list of values, and not {values!r}: for one value write [{values!r}]")
    try:
        found = list(values)
    except TypeError:
        raise TypeError(f"{place} is a list of values, and not {values!r}") from None
    if not found:
        raise ValueError(f"{place} has no value")
    return found
