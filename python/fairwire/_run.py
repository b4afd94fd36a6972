"""Scenarios and papers, and how they are run."""

from __future__ import annotations

import contextlib
import datetime
import functools
import os
import platform
import signal
import sys
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Union

from fairwire import _fairwire
from fairwire._arguments import changes, count_of_jobs, count_of_seeds, counted, first_seed, folder, is_number
from fairwire._fairwire import FairwireError
from fairwire._law import versions
from fairwire.results import Results, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import ParamSpec, TypeVar

    Progress = Union[bool, Callable[[float], object], None]
    Arguments = ParamSpec("Arguments")
    Returned = TypeVar("Returned")


class Interrupted(KeyboardInterrupt):
    """Ctrl-C. `results` has the runs that were finished.

    If a paper was interrupted, `paper` has what it could judge.
    """

    def __init__(self, results: Results, paper: PaperResults | None = None) -> None:
        super().__init__("interrupted: the attribute 'results' has the finished runs")
        self.results = results
        self.paper = paper


def interrupted_once(work: Callable[Arguments, Returned]) -> Callable[Arguments, Returned]:
    """Has only the first Ctrl-C end `work`. A later one would come while the finished runs are collected, and lose them.

    Where the program has a handler of its own for SIGINT, that one decides.
    """

    @functools.wraps(work)
    def held(*args: Arguments.args, **named: Arguments.kwargs) -> Returned:
        before = signal.getsignal(signal.SIGINT)
        if before is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
            return work(*args, **named)
        come = False

        def once(number: int, frame: object) -> None:
            nonlocal come
            if not come:
                come = True
                raise KeyboardInterrupt

        try:
            try:
                signal.signal(signal.SIGINT, once)
                return work(*args, **named)
            finally:
                signal.signal(signal.SIGINT, before)
        finally:
            # Again, for a Ctrl-C that came during the first; there is no second.
            signal.signal(signal.SIGINT, before)

    return held


class Scenario:
    """A scenario: a TOML file, or a dict of Python values with the same keys (docs/scenario.md)."""

    def __init__(self, source: str | os.PathLike[str] | Mapping[str, Any]) -> None:
        if not isinstance(source, (str, os.PathLike, Mapping)):
            raise TypeError(f"a scenario is the path of a file, a dict or a Scenario, and not {source!r}")
        path_or_dict = dict(source) if isinstance(source, Mapping) else source
        self._native = _fairwire.Scenario(path_or_dict)

    @property
    def name(self) -> str:
        """The path of its file; 'the scenario' if it has none."""
        return self._native.name

    def cells(
        self,
        *,
        set: Mapping[str, Any] | None = None,
        axes: Mapping[str, Any] | None = None,
        only: str | Iterable[str] | None = None,
    ) -> list[str]:
        """Returns the names of its experiments with these changes, which are those of `run`."""
        return self._native.cells(changes(set, axes, only, None, None, None))

    def __repr__(self) -> str:
        return f"<fairwire.Scenario {self.name}>"


class PaperResults:
    """A paper that was run: its verdicts beside its results."""

    def __init__(
        self, title: str, results: Results, verdicts: Table, text: str, page: str
    ) -> None:
        self.title = title
        self.results = results
        self.verdicts = verdicts
        self._text = text
        self._page = page

    def save_report(self, path: str | os.PathLike[str]) -> None:
        """Writes the report as one HTML page that loads nothing."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._page)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<fairwire.PaperResults: {self.title}, {counted(len(self.verdicts), 'verdict')}>"

    def _repr_html_(self) -> str:
        import html

        rows = zip(*(self.verdicts.column(name) for name in ("claim", "verdict", "says")), strict=True)
        cells = "".join(
            "<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in row) + "</tr>" for row in rows
        )
        return f"<p>{html.escape(self.title)}</p><table>{cells}</table>"


@interrupted_once
def run(
    scenario: str | os.PathLike[str] | Mapping[str, Any] | Scenario,
    *,
    seeds: int | range | None = None,
    seed: int | None = None,
    set: Mapping[str, Any] | None = None,
    axes: Mapping[str, Any] | None = None,
    only: str | Iterable[str] | None = None,
    duration: str | datetime.timedelta | None = None,
    jobs: int | None = None,
    progress: Progress = None,
) -> Results:
    """Runs every experiment of a scenario with every seed.

    set: other values, by the dotted paths of their keys; None removes a key.
    axes: values to vary, by the names of axes or the dotted paths of keys.
    only: the names, groups or patterns of the scenario's experiments to run, or one of them. `axes` then makes several
        of each.
    duration: the simulated time of each run, as "20s" or a timedelta.
    seeds, seed: how many seeds, and the first of them; `seeds=range(30)` is both.
    jobs: runs at the same time; one for each processor if None. Results do not depend on it. With a window law in Python
        it is one if None, since threads would wait for each other: `fw.sweep` with a ProcessPoolExecutor uses more.
    progress: True shows a line on standard error, and so does None on a terminal. A function gets the share that is
        done, 0 to 1, and in the end 1. If it raises an exception, the runs end and the exception comes out. Its
        attribute `results` has the finished runs.

    Raises ScenarioError if the scenario cannot be built, RunError if a run fails, LawError if a window law in
    Python fails, and Interrupted on Ctrl-C, whose `results` has the finished runs.
    """
    built = scenario if isinstance(scenario, Scenario) else Scenario(scenario)
    seeds, seed = _seeds(seeds, seed)
    adjust = changes(set, axes, only, duration, seeds, seed)
    jobs = count_of_jobs(jobs)
    show = shown(progress)
    try:
        native, interrupted = _fairwire.run(built._native, adjust, jobs, show)
    finally:
        clear(show)
    results = Results(native)
    if isinstance(interrupted, KeyboardInterrupt):
        raise Interrupted(results) from interrupted
    if interrupted is not None:
        attach(interrupted, results)
        raise interrupted
    return results


@interrupted_once
def paper(
    name: str | os.PathLike[str],
    *,
    quick: bool = False,
    seeds: int | None = None,
    jobs: int | None = None,
    progress: Progress = None,
    store: str | os.PathLike[str] | None = None,
) -> PaperResults:
    """Runs a paper, by its name or by its directory. `quick` runs three seeds, so it is not given with `seeds`.

    store: a folder of finished runs, as of `fw.sweep`, which is made if there is none. Runs that it has are not done
        again, and new ones are added.

    Raises PaperError if there is no such paper, StoreError if the store cannot be used, and Interrupted on Ctrl-C.
    """
    if quick and seeds is not None:
        # As the command says it of its options.
        raise ValueError("the argument 'quick' cannot be used with 'seeds'")
    seeds = None if seeds is None else count_of_seeds(seeds)
    jobs = count_of_jobs(jobs)
    if not isinstance(name, (str, os.PathLike)):
        raise TypeError(f"a paper is its name or the path of its directory, and not {name!r}")
    # Only a text may be a name.
    name = name if isinstance(name, str) else os.path.join(name, "")
    place = None if store is None else (folder("store", store), origin(), versions)
    show = shown(progress)
    try:
        title, native, verdicts, text, page, interrupted = _fairwire.paper(name, quick, seeds, jobs, show, place)
    finally:
        clear(show)
    ran = PaperResults(title, Results(native), Table(verdicts), text, page)
    if isinstance(interrupted, KeyboardInterrupt):
        raise Interrupted(ran.results, ran) from interrupted
    if interrupted is not None:
        attach(interrupted, ran.results)
        raise interrupted
    return ran


def origin() -> tuple[str, str]:
    """Returns the host and the date, which a store notes for each run."""
    return platform.node() or "unknown", datetime.datetime.now(datetime.timezone.utc).date().isoformat()


def papers() -> dict[str, str]:
    """Returns the built-in papers with their subjects."""
    return dict(_fairwire.papers())


def _seeds(seeds: int | range | None, seed: int | None) -> tuple[int | None, int | None]:
    if seeds is None:
        return None, first_seed(seed)
    if isinstance(seeds, range):
        if seeds.step != 1 or seed is not None:
            raise ValueError("seeds is a range of step 1, without seed=: `fw.sweep` takes any seeds")
        return count_of_seeds(len(seeds)), first_seed(seeds.start)
    if not is_number(seeds):
        raise TypeError(f"seeds is a number or a range of step 1, and not {seeds!r}: `fw.sweep` takes any seeds")
    return count_of_seeds(seeds), first_seed(seed)


def attach(error: BaseException, results: Results) -> None:
    """Gives an exception the finished runs, if its class lets it have attributes."""
    with contextlib.suppress(AttributeError, TypeError):
        error.results = results  # type: ignore[attr-defined]


def _reduce(error: FairwireError) -> tuple[object, ...]:
    """Pickles an exception without the results that `attach` gave it, which stay in the process that has them."""
    rest = {name: value for name, value in vars(error).items() if name != "results"}
    return (type(error), error.args, rest)


FairwireError.__reduce__ = _reduce  # type: ignore[method-assign, assignment]


class _Line:
    """A line of progress on standard error."""

    def __init__(self) -> None:
        self.percent = -1

    def __call__(self, share: float) -> None:
        percent = int(share * 100)
        if percent != self.percent:
            self.percent = percent
            sys.stderr.write(f"\r{percent:3d} % of the runs")
            sys.stderr.flush()


def shown(progress: Progress) -> Callable[[float], object] | None:
    if progress is None:
        progress = sys.stderr.isatty()
    if progress is True:
        return _Line()
    if progress is not False and not callable(progress):
        raise TypeError(f"progress is True, False or a function that takes the share that is done, and not {progress!r}")
    return progress or None


def clear(shown: Callable[[float], object] | None) -> None:
    if isinstance(shown, _Line) and shown.percent >= 0:
        sys.stderr.write("\r" + " " * 20 + "\r")
        sys.stderr.flush()
