"""Results as tables for pandas, polars and whatever reads Arrow."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn, cast

from fairwire import _fairwire
from fairwire._arguments import counted, first_seed, library, maybe_text, names, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import matplotlib.axes
    import pandas
    import polars


class Table:
    """A table of results.

    It has the Arrow PyCapsule interface, so `pyarrow.table(it)`, `polars.DataFrame(it)` and DuckDB take it as it is,
    without a copy.
    """

    def __init__(self, native: _fairwire.Table) -> None:
        self._native = native

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return self._native.names

    def __len__(self) -> int:
        return len(self._native)

    def column(self, name: str) -> list[Any]:
        """Returns a column as a list; a missing value is None."""
        return self._native.column(text("name", name, "that of a column"))

    @property
    def df(self) -> pandas.DataFrame:
        """The table for pandas. Texts that repeat are categories.

        Axes of numbers are columns of numbers. An axis of quantities is a column of texts, and beside it a column of numbers
        whose name ends with the unit, such as `topology.bottleneck.delay_s`.
        """
        frames = library("pandas", "pandas", ".df")
        numpy = library("numpy", "pandas", ".df")
        columns: dict[str, Any] = {}
        for name in self.names:
            kind = self._native.kind(name)
            if kind == "labels":
                codes, texts = self._native.labels(name)
                columns[name] = frames.Categorical.from_codes(
                    numpy.frombuffer(codes, numpy.int32),
                    dtype=frames.CategoricalDtype(frames.Index(texts, dtype="str")),
                )
            elif kind == "counts":
                counts, missing = self._native.counts(name)
                columns[name] = frames.arrays.IntegerArray(
                    numpy.frombuffer(counts, numpy.uint64), numpy.frombuffer(missing, numpy.bool_)
                )
            elif kind == "numbers":
                columns[name] = numpy.frombuffer(self._native.numbers(name), numpy.float64)
            elif kind in ("integers", "flags"):
                values = self.column(name)
                # As numpy has them, unless cells lack the axis.
                whole = {"integers": ("int64", "Int64"), "flags": ("bool", "boolean")}[kind][None in values]
                columns[name] = frames.array(values, dtype=whole) if None in values else numpy.array(values, dtype=whole)
            else:
                columns[name] = self.column(name)
        return cast("pandas.DataFrame", frames.DataFrame(columns))

    @property
    def pl(self) -> polars.DataFrame:
        """The table for polars."""
        return cast("polars.DataFrame", library("polars", "polars", ".pl").DataFrame(self))

    @property
    def arrow(self) -> _fairwire.Table:
        """The table as an object with the Arrow PyCapsule interface, which needs no library."""
        return self._native

    def __arrow_c_schema__(self) -> object:
        return self._native.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._native.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<fairwire.Table: {counted(len(self), 'row')} of {', '.join(self.names)}>"


class Results:
    """What the runs of a scenario measured."""

    def __init__(self, native: _fairwire.Results) -> None:
        self._native = native

    @property
    def name(self) -> str:
        """The name of the scenario or paper."""
        return self._native.name

    @property
    def cells(self) -> list[str]:
        """The names of the experiments."""
        return self._native.cells

    @property
    def axes(self) -> list[str]:
        """The names of the axes, each of which is a column of the tables."""
        return self._native.axis_names

    @property
    def partial(self) -> bool:
        """Whether runs are missing because they were interrupted."""
        return self._native.partial

    @property
    def notes(self) -> list[str]:
        """What a reader of the results should know."""
        return self._native.notes

    def __len__(self) -> int:
        """Returns the number of runs."""
        return len(self._native)

    @property
    def values(self) -> Table:
        """Every value: a row for each cell, seed, subject, window and metric.

        Each row counts in a mean: the unperturbed run, which has no seed, is in `unperturbed`. The subject of all flows
        together is "all".
        """
        return Table(self._native.values())

    @property
    def unperturbed(self) -> Table:
        """The values of the unperturbed run of each cell, in the columns of `values`. They have no seed."""
        return Table(self._native.unperturbed())

    @property
    def summary(self) -> Table:
        """Means over the seeds with 95 % intervals (Student's t)."""
        return Table(self._native.summary())

    @property
    def runs(self) -> Table:
        """The runs, with the digest of what an observer sees on the wires. The unperturbed one has no seed."""
        return Table(self._native.runs_table())

    @property
    def df(self) -> pandas.DataFrame:
        """`values` for pandas."""
        return self.values.df

    @property
    def pl(self) -> polars.DataFrame:
        """`values` for polars."""
        return self.values.pl

    @property
    def arrow(self) -> _fairwire.Table:
        """`values` as an object with the Arrow PyCapsule interface."""
        return self.values.arrow

    def series(
        self, metric: str, of: str | None = None, *, cell: str | None = None, unperturbed: bool = False
    ) -> Table:
        """Returns the time series of a metric: `throughput`, `cwnd`, `queue`, ...

        `of` is a flow or a link; all if it is None. Times are in seconds since the run began. They are of the seeds, or of
        the unperturbed run, if `unperturbed` is true.
        """
        text("metric", metric, "the name of a series")
        maybe_text("of", of, "the name of a flow or a link")
        maybe_text("cell", cell, "the name of a cell")
        return Table(self._native.series(metric, of, cell, bool(unperturbed)))

    def mean(
        self,
        metric: str,
        of: str | Sequence[str] | None = None,
        *,
        minus: str | Sequence[str] | None = None,
        against: str | None = None,
        window: str | None = None,
        total: bool = False,
    ) -> Table:
        """Returns the mean of a metric over several flows or links: a row for each cell, with a 95 % interval.

        For each seed the values of the flows become one number, their mean or (`total=True`) their sum. The interval
        (Student's t) is that of these numbers over the seeds. Differences are taken seed by seed, so what a seed does
        to both sides does not widen the interval. A seed in which one of the flows has no value does not count (`n`), and
        a cell without such flows has no mean.

        of: a name, a pattern ("dccp-*") or several; "all" for all flows together. If None, what the flows send. A star
            does not stand for a slash, which is in the names of the directions back.
        minus: the flows or links whose number is subtracted.
        against: a cell; then the difference from this cell is returned, over the seeds that both have.
        window: the window of time; the first one if it is None.
        """
        return Table(
            self._native.mean(
                text("metric", metric, "the name of a metric"),
                [] if of is None else names("of", of, "flows or links"),
                None if minus is None else names("minus", minus, "flows or links"),
                maybe_text("against", against, "the name of a cell"),
                maybe_text("window", window, "the name of a window of time"),
                bool(total),
            )
        )

    def plot(
        self,
        metric: str = "throughput",
        x: str | None = None,
        *,
        of: str | Sequence[str] | None = None,
        where: Mapping[str, Any] | None = None,
        columns: str | None = None,
        rows: str | None = None,
        window: str | None = None,
        ax: matplotlib.axes.Axes | None = None,
    ) -> matplotlib.axes.Axes:
        """Draws the mean of a metric with its 95 % interval over an axis of the scenario. Needs the extra `plot`.

        There is a line for each flow and each value of one more axis. A third axis makes plots side by side, and a fourth
        one rows of them, all on the same scales; further axes make lines. Returns the first plot; `.figure` has all.

        An axis can be given by the last part of its name, such as "ccid".

        x: the horizontal axis; the first one if it is None, or the cells if there is no axis.
        of: the flows and links to show. A pattern ("dccp-*") is the mean of all that it matches, as in `mean`. If None,
            what the flows send; of more than four flows, one of each kind.
        where: the cells to show, by the values that they have on axes: `{"ccid": 3, "queue": ["codel", "fq-codel"]}`;
            "cell" stands for their names.
        columns, rows: the axes that make plots side by side and rows of them, or "of" for a plot for each flow. If None,
            the second and the third axis beside `x` of which more than one value is shown.
        window: the window of time; the first one if it is None.
        ax: where to draw everything, in one plot; a new figure if it is None.
        """
        from fairwire._plot import plot

        text("metric", metric, "the name of a metric")
        maybe_text("x", x, "the name of an axis")
        maybe_text("columns", columns, "the name of an axis")
        maybe_text("rows", rows, "the name of an axis")
        maybe_text("window", window, "the name of a window of time")
        if where is not None and not isinstance(where, Mapping):
            raise TypeError(f"where is a dict from axes to values, and not {where!r}")
        wanted = None if of is None else names("of", of, "flows or links")
        return plot(self, metric, x, wanted, where, (rows, columns), window, ax)

    def pcap(
        self,
        path: str | os.PathLike[str],
        *,
        cell: str | None = None,
        links: str | Sequence[str] | None = None,
        seed: int | None = None,
    ) -> int:
        """Runs a seed of a cell again, writes its packets as pcapng, and returns their number.

        cell: the first one if it is None.
        seed: one of those that were run; the first one of the cell if it is None.
        links: the links where packets are written; all if it is None. "bottleneck" means both directions, and
            "bottleneck/back" the reverse one.
        """
        seed = first_seed(seed)
        maybe_text("cell", cell, "the name of a cell")
        return self._native.pcap(path, cell, None if links is None else names("links", links, "links"), seed)

    def to_json(self) -> str:
        """Returns the results as JSON, as `fairwire run --json` prints them."""
        return self._native.json()

    def __str__(self) -> str:
        return self._native.text()

    def __reduce__(self) -> NoReturn:
        raise TypeError("results cannot be pickled: pickle a table of them, such as results.df, or use a store (fw.sweep)")

    def __repr__(self) -> str:
        partial = ", partial" if self.partial else ""
        runs, cells = counted(len(self), "run"), counted(len(self.cells), "cell")
        return f"<fairwire.Results of {self.name}: {runs} of {cells}{partial}>"

    def _repr_html_(self) -> str:
        head = html.escape(repr(self)[1:-1])
        return f"<p>{head}</p><pre>{html.escape(str(self))}</pre>"
