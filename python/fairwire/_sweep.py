"""Sweeps with a memory: a run that the store has is never done again."""

from __future__ import annotations

import concurrent.futures
import datetime
import os
import platform
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairwire import _fairwire
from fairwire._executors import adapt
from fairwire._fairwire import FairwireError, LawError, WorkerError
from fairwire._law import Laws, adopt, classes, versions
from fairwire._run import Interrupted, Scenario, changes, clear, shown
from fairwire.results import Results, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from fairwire._executors import Engine
    from fairwire._run import Progress, Value


@dataclass(frozen=True)
class Until:
    """As many seeds as an interval needs.

    More seeds run until the half width of the 95 % interval of `metric` is at most `within` of its mean, for `of` (a
    flow or a link; every flow if None) in `window` (every one if None). At least `least` seeds run, and at most `most`.
    """

    metric: str = "throughput"
    within: float = 0.05
    of: str | None = None
    window: str | None = None
    least: int = 5
    most: int = 1000


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
    def store(self) -> Store:
        """The store."""
        return Store(self._store)

    def __repr__(self) -> str:
        partial = ", partial" if self.partial else ""
        return (
            f"<fairwire.Sweep of {self.name}: {len(self.cells)} cells, {self.found} runs found and {self.done} done"
            f"{partial}>"
        )


class Store:
    """A folder of finished runs. `docs/sweeps.md` describes its files.

    `len(store)` is the number of runs that the installed version of Fairwire can use.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._native = _fairwire.Store(self.path, _origin())

    def __len__(self) -> int:
        return len(self._native)

    @property
    def stale(self) -> int:
        """How many runs other versions of the sources computed, which count as other runs."""
        return self._native.stale

    @property
    def damaged(self) -> int:
        """How many pieces cannot be read. Their runs are done again."""
        return self._native.damaged

    @property
    def sweeps(self) -> Table:
        """The sweeps that were done with the store: a row for each cell of each."""
        return Table(self._native.sweeps())

    def compact(self) -> int:
        """Writes the runs of processes that have ended as Parquet, and returns their number. A sweep ends with it."""
        return self._native.compact()

    def prune(self, *, unlisted: bool = False) -> int:
        """Removes the runs that other versions of the sources computed, and returns their number.

        With `unlisted` it removes those whose scenario is in no sweep of the store instead.
        """
        return self._native.prune(unlisted)

    def merge(self, other: str | os.PathLike[str] | Store) -> int:
        """Adds the runs and sweeps of another store, and returns how many runs were new."""
        return self._native.merge(other.path if isinstance(other, Store) else other)

    def files(self, table: str) -> list[str]:
        """Returns the Parquet files of a table, for any reader.

        The tables are `runs`, `values`, `series`, `scenarios` and `settings`. Runs of sweeps at work, and of those that
        were killed, come into the files with `compact`. A compaction of another process may remove files: then ask
        again.
        """
        return [os.fspath(path) for path in self._native.files(table)]

    def sql(self, query: str) -> Any:
        """Returns the answer of DuckDB (extra `sql`), which sees the tables that `files` names.

        Runs of processes that have ended are compacted first, unless another process does that.
        """
        import duckdb

        self._native.compact_unless_busy()
        connection = duckdb.connect()
        for table in ("runs", "values", "series", "scenarios", "settings"):
            if files := self.files(table):
                names = ", ".join("'{}'".format(file.replace("'", "''")) for file in files)
                connection.execute(f'create view "{table}" as select * from read_parquet([{names}])')
        return connection.sql(query)  # A relation, which has df(), pl() and arrow().

    def __repr__(self) -> str:
        return f"<fairwire.Store {self.path}: {len(self)} runs>"


def sweep(
    scenario: str | os.PathLike[str] | Mapping[str, Value] | Scenario,
    *,
    store: str | os.PathLike[str],
    axes: Mapping[str, Iterable[Value]] | None = None,
    seeds: int | Iterable[int] | Until | None = None,
    set: Mapping[str, Value] | None = None,
    only: Sequence[str] | None = None,
    duration: str | None = None,
    executor: Engine | None = None,
    jobs: int | None = None,
    progress: Progress = None,
) -> Sweep:
    """Runs what the store does not have yet, and returns the results of all.

    store: a folder, which is made if there is none. Several sweeps may use it at the same time.
    seeds: their number, or the seeds themselves, as `range(30)`, or `fw.Until`; those of the scenario if None.
    executor: what does the runs: any executor of `concurrent.futures`, a `dask.distributed.Client`, or "ray". If None,
        the processors of this machine do, `jobs` at a time. `docs/cluster.md` is about several machines.
    The other arguments are those of `fw.run`.

    Each finished run is in the store at once, so that nothing is lost if the sweep ends early.

    Raises ScenarioError, RunError, StoreError (a full disk, a store of a newer version), WorkerError (a worker with
    other code, or all of them lost) and Interrupted on Ctrl-C.
    """
    built = scenario if isinstance(scenario, Scenario) else Scenario(scenario)
    count = seeds if isinstance(seeds, int) else None
    until = asdict(seeds) if isinstance(seeds, Until) else None
    these = None if seeds is None or isinstance(seeds, (int, Until)) else list(seeds)
    native = _fairwire.Sweep(
        built._native, changes(set, axes, only, duration, count, None), store, _origin(), versions, these, until
    )
    show = shown(progress)
    interrupted: BaseException | None = None
    try:
        if executor is None:
            interrupted = native.run(jobs, show)
        else:
            _execute(native, executor, jobs, show)
    except KeyboardInterrupt as error:
        interrupted = error
    finally:
        clear(show)
        native.close()
    done = Sweep(native, Path(store))
    if isinstance(interrupted, LawError):
        raise interrupted
    if interrupted is not None:
        raise Interrupted(done) from interrupted
    return done


def _origin() -> tuple[str, str]:
    """Returns the host and the date, which a store notes for each run."""
    return platform.node() or "unknown", datetime.datetime.now(datetime.timezone.utc).date().isoformat()


def work(task: bytes, laws: Laws) -> bytes:
    """Does a task in a worker, with the window laws in Python that it names."""
    adopt(laws)
    return _fairwire.work(task, _origin(), list(laws))


# Work is counted in packets that cross links, of which a processor does about a million in a second. A task is long
# enough that handing it over is cheap, and so short that a lost worker is no pity.
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
                    native.keep(number, future.result())
                except FairwireError:
                    native.give_back(number)
                    raise
                except (ImportError, AttributeError) as error:
                    native.give_back(number)
                    raise WorkerError(
                        f"a worker has no fairwire, or an old one ({error}): install the same version there"
                    ) from error
                except (Exception, concurrent.futures.CancelledError) as error:
                    native.give_back(number)
                    loss = error
                else:
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
            future.cancel()
            native.give_back(number)


def _lost(error: BaseException) -> WorkerError:
    return WorkerError(
        f"the workers were lost ({type(error).__name__}: {error}); finished runs are in the store: start the sweep "
        "again with a new executor"
    )
