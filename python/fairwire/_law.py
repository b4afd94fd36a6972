"""Window laws in Python."""

from __future__ import annotations

import contextlib
import difflib
import importlib
import inspect
import pickle
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, Union

from fairwire import _fairwire
from fairwire._fingerprint import Unknown, fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairwire._fairwire import LawWindow


class WindowLaw(Protocol):
    """What a class needs to be a window law. All sizes are in packets.

    It may have more methods:

    - `threshold(left)`: the slow-start threshold after a cut that left a window of `left`; `left` itself by default.
    - `observe(window)`: called for each acknowledgement or round-trip sample, before any other method. It returns None,
      or a smaller window with a slow-start threshold, for a law that measures delays.
    - `after_timeout(window)`: the slow-start threshold after a timeout; half the window by default.
    - `slow_start(window, growth)`: what slow start adds to the window, if the protocol proposes `growth`.
    - `initial_ssthresh()`: the first slow-start threshold, or None.
    - `reset()`: forgets the history, because the path has changed.
    """

    def increase(self, window: LawWindow, acked: float, /) -> float:
        """Returns what congestion avoidance adds to the window for `acked` packets."""

    def cut(self, window: LawWindow, signal: str, /) -> float:
        """Returns the window after congestion; `signal` is "loss" or "mark"."""


Law = TypeVar("Law", bound="type[Any]")

# What workers get of each law: its fingerprint, its version, and the class as bytes.
Laws = dict[str, tuple[Union[str, None], Union[str, None], bytes]]

# The classes that are laws, with the versions that were given.
_classes: dict[str, tuple[type[Any], str | None]] = {}


def law(name: str, *, version: str | None = None) -> Callable[[Law], Law]:
    """Makes a class the window law `name`, which scenarios can use from then on, as CCID 2's or TCP's.

        @fw.law("gentle")
        class Gentle:
            def increase(self, window, acked):
                return 0.5 * acked / window.cwnd

            def cut(self, window, signal):
                return 0.875 * window.cwnd

    Each connection has an instance of its own. A run that a law ends early, by an exception or by a value that is no
    size, raises LawError. A second class of the same name replaces the first.

    version: what a store tells the law from others by. If None, it is a hash of what the class computes with: its
        methods and values, those of its base classes, and the functions and values outside of it that they use. A
        class that uses other things (an array, an open file) needs a version.
    """

    if not isinstance(name, str):
        raise TypeError(f'a law needs a name, as in @fairwire.law("mine"), and not {name!r}')

    def register(class_: Law) -> Law:
        if not isinstance(class_, type):
            raise TypeError(f"the law '{name}' is a class, and not {class_!r}")
        _check_names(name, class_)
        meaning = (inspect.getdoc(class_) or f"A window law in Python, {class_.__name__}.").splitlines()[0]
        _fairwire.register_window_law(name, class_, meaning)
        _classes[name] = (class_, version)
        return class_

    return register


# The methods that a law may have.
_METHODS = ("increase", "cut", "threshold", "observe", "after_timeout", "slow_start", "initial_ssthresh", "reset")


def _check_names(name: str, class_: type[Any]) -> None:
    """Refuses a class with a method that nobody would call, because its name is almost that of one of a law."""
    for method in vars(class_):
        if method in _METHODS or method.startswith("_"):
            continue
        if meant := difflib.get_close_matches(method, [it for it in _METHODS if it not in vars(class_)], 1, 0.85):
            raise TypeError(
                f"the law '{name}' has a method {method}, which is never called: if {meant[0]} is meant, call it so; "
                f"if not, give it a name of another kind, such as _{method}"
            )


def versions(names: list[str]) -> dict[str, str]:
    """Returns what a store tells these laws from others by."""
    found = {}
    for name in names:
        class_, version = _classes[name]
        try:
            found[name] = version or fingerprint(class_)
        except Unknown as error:
            raise ValueError(
                f"a store has to know whether the law '{name}' changes, and it uses {error}, which cannot be compared: "
                f'give it a version, as in @fairwire.law("{name}", version="1")'
            ) from None
    return found


def classes(names: list[str]) -> Laws:
    """Returns what workers get of these laws."""
    return {name: (_known(*_classes[name]), _classes[name][1], _bytes(name)) for name in names}


def adopt(laws: Laws) -> None:
    """Registers laws that came with a task.

    A class that a module defines is taken from the module as the worker has it, so it is compared with what was sent.
    """
    for name, (sent, version, content) in laws.items():
        if name in _classes and _is_same(_classes[name], sent, version):
            continue
        try:
            class_ = pickle.loads(content)
        except Exception as error:
            raise _fairwire.WorkerError(
                f"a worker cannot load the law '{name}' ({type(error).__name__}: {error}): define it in a module that "
                "the workers can import, or install cloudpickle"
            ) from error
        if not _is_same((class_, version), sent, version):
            raise _fairwire.WorkerError(
                f"a worker has another class for the law '{name}': start the executor again, or update its module there"
            )
        law(name, version=version)(class_)


def _known(class_: type[Any], version: str | None) -> str | None:
    """Returns the fingerprint of a class, or None for a class that has a version because it has none."""
    try:
        return fingerprint(class_)
    except Unknown:
        if version is None:
            raise
        return None


def _is_same(entry: tuple[type[Any], str | None], sent: str | None, version: str | None) -> bool:
    try:
        return entry[1] == version and _known(*entry) == sent
    except Unknown:
        return False


def _bytes(name: str) -> bytes:
    """Returns a class as bytes: with cloudpickle, if it is there, also one that is defined in a notebook."""
    pickler: Any = pickle
    with contextlib.suppress(ImportError):
        pickler = importlib.import_module("cloudpickle")
    try:
        content: bytes = pickler.dumps(_classes[name][0])
    except Exception as error:
        raise ValueError(
            f"the law '{name}' cannot be sent to workers ({error}): define its class in a module"
        ) from error
    return content
