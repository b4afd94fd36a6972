"""Sweeps with a memory: a run that the store has is never done again."""

from __future__ import annotations

import concurrent.futures
import contextlib
import datetime
import os
import time
from collections.abc import Iterable
from dataclasses import KW_ONLY, asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairwire import _fairwire
from fairwire._arguments import changes, count_of_jobs, count_of_seeds, counted, folder, many_seeds, maybe_text, number, text
from fairwire._executors import adapt
from fairwire._fairwire import FairwireError, StoreError, WorkerError
from fairwire._law import Laws, adopt, classes, versions
from fairwire._run import Interrupted, Scenario, attach, clear, interrupted_once, origin, shown
from fairwire.results import Results, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fairwire._executors import Engine
    from fairwire._run import Progress


# The most cells of which a sweep shows a table.
_MOST_SHOWN = 500


@dataclass(frozen=True)
class Until:
    """As many seeds as an interval needs.

    More seeds run until the half width of the 95 % interval of `metric` is at most `within` of its mean, for `of` (a
    flow or a link, or a pattern of them; "all" for all flows together; what the flows send if None) in `window` (every one if None). At least `least` seeds run, and at most `most`;
    if that is not enough, `Results.notes` says so.
    """

    metric: str = "throughput"
    _: KW_ONLY
    within: float | str = 0.05
    of: str | None = None
    window: str | None = None
    least: int = 5
    most: int = 1000

    def __post_init__(self) -> None:
        text("metric", self.metric, "the name of a metric")
        maybe_text("of", self.of, "the name of a flow or a link")
        maybe_text("window", self.window, "the name of a window of time")
        least = number("least", self.least, 2)
        object.__setattr__(self, "least", least)
        object.__setattr__(self, "most", number("most", self.most, least, 10_000))
        share = self.within
        if isinstance(share, str):
            digits = share.strip().removesuffix("%")
            try:
                share = float(digits) / 100 if digits != share.strip() else float(digits)
            except ValueError:
                share = -1.0
        if not isinstance(share, (int, float)) or not 0 < share < 1:
            raise ValueError(f'within is a share of the mean, such as 0.05 or "5 %", and not {self.within!r}')
        object.__setattr__(self, "within", float(share))


class Sweep(Results):
    """The results of a sweep, which are in its store.

    Tables are read from the store when they are asked for, so a sweep may have more runs than there is memory for:
    `summary` and `plot` read one cell after the other. `fw.Store` queries all of it.
    """

    def __init__(self, native: _fairwire.Sweep, store: Path) -> None:
        super().__init__(native.results)
        self._sweep = native
        self._store = store

    @property
    def found(self) -> int:
        """How many of the wanted runs the store had before."""
        return self._sweep.found

    @property
    def done(self) -> int:
        """How many runs were done now."""
        return self._sweep.done

    @property
    def view(self) -> str:
        """The name of its view for `Store.sql`: `sweep.store.sql(f"select * from {sweep.view}")`."""
        return f"sweep_{self._sweep.id}"

    @property
    def store(self) -> Store:
        """The store."""
        return Store(self._store)

    def __str__(self) -> str:
        if len(self.cells) <= _MOST_SHOWN:
            try:
                return super().__str__()
            except StoreError as error:
                # They may be those of an exception that is being shown.
                return f"{repr(self)[1:-1]}: {error}"
        return (
            f"{self._said()}. A table of more than {_MOST_SHOWN} cells is not shown: `summary` and `mean` make one, and "
            "`store.sql` asks for a part."
        )

    def __repr__(self) -> str:
        partial = ", partial" if self.partial else ""
        return f"<fairwire.Sweep of {self._said()}{partial}>"

    def _said(self) -> str:
        cells, found = counted(len(self.cells), "cell"), counted(self.found, "run")
        return f"{self.name}: {cells}, {found} found and {self.done} done"


class Store:
    """A folder of finished runs. `docs/sweeps.md` describes its tables.

    `len(store)` is the number of runs that the installed version of Fairwire can use.

    repair: if the store is damaged, sets its file aside first, as `*.damaged`, and keeps what can be read; `repaired`
        says how much that is. The runs that are lost are done again by the next sweep that wants them.
    """

    def __init__(self, path: str | os.PathLike[str], *, repair: bool = False) -> None:
        self.path = folder("path", path)
        self._native = _fairwire.Store(self.path, origin(), repair)

    def __len__(self) -> int:
        return len(self._native)

    @property
    def stale(self) -> int:
        """How many runs other versions of the sources computed, which count as other runs."""
        return self._native.stale

    @property
    def damaged(self) -> int:
        """How many damaged files were set aside as `*.damaged`."""
        return self._native.damaged

    @property
    def repaired(self) -> str | None:
        """What the repair did, in words: what was set aside, how many runs and sweeps were kept, and how many lost.

        None without `repair`.
        """
        return self._native.repaired

    @property
    def sweeps(self) -> Table:
        """The sweeps that were done with the store: a row for each cell of each."""
        return Table(self._native.sweeps())

    def verify(self) -> None:
        """Compares everything with its checksums, once for each `Store`. Damage is a StoreError."""
        self._native.verify()

    def forget(self, sweep: str) -> None:
        """Takes a sweep off the list, by the name that `sweeps` has. Its runs stay until `prune(unlisted=True)`."""
        self._native.forget(text("sweep", sweep, "that of a sweep"))

    def prune(self, *, unlisted: bool = False) -> int:
        """Removes the runs that other versions of the sources computed, and returns their number.

        With `unlisted` it removes those whose scenario is in no sweep of the store instead. While no sweep is listed, or
        after a repair that has lost a part of the list, that is a StoreError.
        """
        return self._native.prune(unlisted)

    def merge(self, other: str | os.PathLike[str] | Store) -> int:
        """Adds the runs and sweeps of another store, and returns how many runs were new.

        A sweep that both list gets the seeds of both, and the rest of its entry is the newer one.
        """
        return self._native.merge(other.path if isinstance(other, Store) else folder("other", other))

    def export(self, path: str | os.PathLike[str]) -> list[str]:
        """Writes the tables as Parquet into a folder, and returns the paths.

        The files are `runs.parquet`, `values.parquet`, `series.parquet`, `scenarios.parquet` and `settings.parquet`.
        None of them may be there before, and none is there if it fails.
        """
        return [os.fspath(file) for file in self._native.export(folder("path", path))]

    def sql(self, query: str) -> Table:
        """Returns the answer of SQLite, which sees the five tables that `docs/sweeps.md` describes.

        There is a view for each sweep, too: `Sweep.view` is its name, and `sweep_` with the name that `sweeps` has. Its
        columns are those of `Results.values`, with the axes.

        A query writes nothing. A wrong one is a ValueError. Everything is compared with its checksums first, once for
        each `Store`. A list, such as the values of a series, is a list of numbers in the answer, and any other blob is
        bytes; `numbers(list)` makes JSON of a list for `json_each`.
        """
        return Table(self._native.sql(text("query", query, "a query in SQL")))

    def __repr__(self) -> str:
        return f"<fairwire.Store {self.path}: {counted(len(self), 'run')}>"


@interrupted_once
def sweep(
    scenario: str | os.PathLike[str] | Mapping[str, Any] | Scenario,
    *,
    store: str | os.PathLike[str],
    axes: Mapping[str, Any] | None = None,
    seeds: int | Iterable[int] | Until | None = None,
    set: Mapping[str, Any] | None = None,
    only: str | Iterable[str] | None = None,
    duration: str | datetime.timedelta | None = None,
    executor: Engine | None = None,
    jobs: int | None = None,
    progress: Progress = None,
) -> Sweep:
    """Runs what the store does not have yet, and returns the results of all.

    store: a folder, which is made if there is none. Several sweeps may use it at the same time.
    seeds: their number, or the seeds themselves, as `range(30)`, or `fw.Until`; those of the scenario if None. Their
        number counts from `run.seed` on, which is 1 unless the scenario says otherwise.
    executor: what does the runs: any executor of `concurrent.futures`, a `dask.distributed.Client`, or "ray". If None,
        the processors of this machine do, `jobs` at a time. `docs/cluster.md` is about several machines.
    The other arguments are those of `fw.run`.

    The runs of a task (up to 64 short ones) are in the store as soon as they are finished, so little is lost if the
    sweep ends early.

    Raises ScenarioError, RunError, StoreError (a full disk, a store of a newer version), WorkerError (a worker with
    other code, or all of them lost) and Interrupted on Ctrl-C. An exception of `progress` ends the sweep and comes out.
    The attribute `results` of each exception that comes while runs are done has those that the store has.
    """
    built = scenario if isinstance(scenario, Scenario) else Scenario(scenario)
    place = folder("store", store)
    jobs = count_of_jobs(jobs)
    count: int | None = None
    these: list[int] | None = None
    until: dict[str, Any] | None = None
    if isinstance(seeds, Until):
        until = asdict(seeds)
    elif isinstance(seeds, Iterable) and not isinstance(seeds, (str, bytes)):
        these = many_seeds(seeds)
    elif seeds is not None:
        count = count_of_seeds(seeds)
    adjust = changes(set, axes, only, duration, count, None, these or until)
    native = _fairwire.Sweep(built._native, adjust, place, origin(), versions, these, until)
    done = Sweep(native, place)
    show = shown(progress)
    interrupted: BaseException | None = None
    try:
        if executor is None:
            interrupted = native.run(jobs, show)
        else:
            _execute(native, executor, jobs, show)
            if show is not None:
                show(1.0)
        if interrupted is None:
            native.close()
    except BaseException as error:
        interrupted = error
    finally:
        clear(show)
    if interrupted is None:
        return done
    # A second failure would hide what went wrong.
    with contextlib.suppress(StoreError):
        native.close()
    if isinstance(interrupted, KeyboardInterrupt):
        raise Interrupted(done) from interrupted
    attach(interrupted, done)
    raise interrupted


def work(task: bytes, laws: Laws) -> bytes:
    """Does a task in a worker, with the window laws in Python that it names."""
    adopt(laws)
    return _fairwire.work(task, origin(), list(laws))


# Work is counted in packets that cross links, of which a processor does about a million in a second. A task is long
# enough that handing it over is cheap, and short enough that little work is lost with a worker.
_LEAST_WORK = 100_000
_MOST_WORK = 4_000_000

# What a processor does while dask hands over a task (10 ms). A task lasts until each other worker has got one.
_HANDING_OVER = 10_000

# How often in a row workers may be lost.
_MOST_LOSSES = 5

# How often the workers are counted, in seconds: those of a cluster come and go.
_COUNT_S = 2.0


def _execute(
    native: _fairwire.Sweep,
    engine: Engine,
    jobs: int | None,
    show: Callable[[float], object] | None,
) -> None:
    """Has the missing runs done by an engine. Runs of a lost worker are done again."""
    submit, count = adapt(engine, work, classes(native.laws))
    under_way: dict[concurrent.futures.Future[bytes], tuple[int, int]] = {}
    done = losses = workers = size = all_work = 0
    count_at = 0.0
    try:
        while True:
            if time.monotonic() >= count_at:
                known = count()
                workers = jobs or max(known, 1)
                left = native.work
                all_work = done + left
                # Less and less, so that all workers end at about the same time.
                least = max(_LEAST_WORK, workers * _HANDING_OVER)
                size = max(min(left // (workers * 16), _MOST_WORK), least)
                count_at = time.monotonic() + _COUNT_S
            while len(under_way) < 2 * workers + 1 and (task := native.take(size)) is not None:
                number, content, _, packets = task
                try:
                    future = submit(content)
                except Exception as error:
                    native.give_back(number)
                    raise _lost(error) from error
                under_way[future] = (number, packets)
            if not under_way:
                return
            ready, _ = concurrent.futures.wait(
                under_way, timeout=1.0, return_when=concurrent.futures.FIRST_COMPLETED
            )
            loss: BaseException | None = None
            for future in ready:
                number, packets = under_way.pop(future)
                try:
                    result = future.result()
                except (Exception, concurrent.futures.CancelledError) as error:
                    native.give_back(number)
                    if isinstance(error, FairwireError):
                        raise
                    if isinstance(error, (ImportError, AttributeError)):
                        raise WorkerError(
                            f"a worker has no fairwire, or an old one ({error}): install the same version there"
                        ) from error
                    loss = error
                except BaseException:
                    native.give_back(number)
                    raise
                else:
                    try:
                        native.keep(number, result)
                    except BaseException:
                        native.give_back(number)
                        raise
                    losses = 0
                    done += packets
            if loss is not None:
                losses += 1
                if isinstance(loss, concurrent.futures.BrokenExecutor) or losses > _MOST_LOSSES:
                    raise _lost(loss) from loss
                count_at = 0.0  # Is the scheduler still there?
            if show is not None:
                show(min(done / max(all_work, 1), 1.0))
    finally:
        for future, (number, _) in under_way.items():
            if not future.cancel() and future.done() and not future.cancelled() and future.exception() is None:
                # What ended the sweep is told; this one is finished all the same.
                with contextlib.suppress(FairwireError):
                    native.keep(number, future.result())
            native.give_back(number)


def _lost(error: BaseException) -> WorkerError:
    return WorkerError(
        f"the workers were lost ({type(error).__name__}: {error}); finished runs are in the store: start the sweep "
        "again with a new executor"
    )
