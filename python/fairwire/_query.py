"""The tables and views that a query of a store sees. None of them is in the store."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, Any

from fairwire._fairwire import SOURCES, StoreError

if TYPE_CHECKING:
    from fairwire import _fairwire

_TABLES = ("runs", "values", "series", "scenarios", "settings")

# Each part has the scenarios of its runs.
_ONCE = {"scenarios": "distinct on (scenario) *", "settings": "distinct on (scenario, path) *"}


def prepare(connection: Any, error: type[Exception], store: _fairwire.Store, query: str) -> None:
    """Makes the tables in a connection of DuckDB, whose exceptions are of the class `error`."""
    store.verify()
    with tempfile.TemporaryDirectory() as rest:
        has_rest = store.export_segments(rest)
        for table in _TABLES:
            files = [os.fspath(path) for path in store.files(table)]
            sources = [f"select * from read_parquet([{', '.join(map(_pattern, files))}])"] if files else []
            # An empty store has the tables of the export, which is empty then.
            if has_rest or not files:
                name = _name(f"segments_{table}")
                # A copy: the relation that a query returns may read later than this folder is there.
                file = _pattern(os.path.join(rest, f"{table}.parquet"))
                connection.execute(f"create table {name} as select * from read_parquet([{file}])")
                sources.append(f"select * from {name}")
            columns, rows = _ONCE.get(table, "*"), " union all by name ".join(sources)
            try:
                connection.execute(f"create view {_name(table)} as select {columns} from ({rows})")
            except error as cause:
                raise StoreError(f"the table {table} of the store cannot be read: {cause}") from cause
    for id in sorted(set(store.sweeps().column("sweep"))):
        # A view costs time, and a store may have many.
        if f"sweep_{id}" in query:
            _view(connection, id, store.cells(id))


def _view(connection: Any, id: str, cells: _fairwire.Table) -> None:
    """Makes the view of a sweep: its values, with the cells and their axes."""
    rows = list(zip(*map(cells.column, cells.names), strict=True))
    if not rows:
        return
    values = ", ".join(f"({', '.join(map(_literal, row))})" for row in rows)
    taken = {"cell", "scenario", "seed", "kind", "of", "window", "metric", "value", "unit", "perturbed"}
    names = [name if at < 2 or name not in taken else f"axis-{name}" for at, name in enumerate(cells.names)]
    columns = ", ".join(map(_name, names))
    table = _name(f"cells_{id}")
    connection.execute(f"create table {table} as select * from (values {values}) as t({columns})")
    axes = "".join(f", c.{_name(name)}" for name in names[2:])
    connection.execute(
        f"""create view {_name(f"sweep_{id}")} as
        select c.cell, v.seed, v.kind, if(v.kind = 'all', 'all', v."of") as "of", v."window", v.metric, v.value, v.unit{axes}
        from "values" v join {table} c on v.scenario = c.scenario
        where v.perturbed and v.sources = {_literal(SOURCES)}"""
    )


def _name(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))


def _text(text: str) -> str:
    return "'{}'".format(text.replace("'", "''"))


def _pattern(path: str) -> str:
    """Returns the pattern of DuckDB that means exactly this path."""
    return _text("".join(f"[{char}]" if char in "*?[" else char for char in path))


def _literal(value: object) -> str:
    if value is None:
        return "null"
    return _text(value) if isinstance(value, str) else repr(value)
