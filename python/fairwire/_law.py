"""Window laws in Python."""

from __future__ import annotations

import hashlib
import inspect
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, Union

from fairwire import _fairwire

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

# Classes by the names of their laws, with their versions.
Laws = dict[str, tuple["type[Any]", Union[str, None]]]

# The classes that are laws, for workers.
_classes: dict[str, type[Any]] = {}


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

    version: what a store tells the law from others by. If None, it is the hash of the source of the class, so a change
        to something else that the class uses needs a version.
    """

    def register(class_: Law) -> Law:
        meaning = (inspect.getdoc(class_) or f"A window law in Python, {class_.__name__}.").splitlines()[0]
        _fairwire.register_window_law(name, class_, meaning, version or _hash(class_))
        _classes[name] = class_
        return class_

    return register


def _hash(class_: type[Any]) -> str | None:
    try:
        source = inspect.getsource(class_)
    except (OSError, TypeError):
        return None
    return hashlib.sha256(source.encode()).hexdigest()[:16]


def classes(names: list[str]) -> Laws:
    """Returns the classes of laws with their versions, for a worker."""
    return {name: (_classes[name], _hash(_classes[name])) for name in names if name in _classes}


def adopt(laws: Laws) -> None:
    """Registers laws that came with a task."""
    for name, (class_, version) in laws.items():
        if _classes.get(name) is not class_:
            law(name, version=version)(class_)
