"""Stores: what they answer, and what they survive."""

import concurrent.futures
import contextlib
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fairwire as fw
import pytest
from sweeps import DUMBBELL, QUEUES, sweep


def rows(table: fw.Table) -> list[tuple[Any, ...]]:
    return list(zip(*map(table.column, table.names), strict=True))


def test_a_store_answers_queries(tmp_path: Path) -> None:
    swept = sweep(tmp_path)
    query = """
        select s.value as queue, avg(v.value) as mean, count(*) as n
        from "values" v join settings s using (scenario)
        where s.path = 'topology.bottleneck.queue.limit' and v."of" = 'dccp' and v.metric = 'goodput' and v."window" = 'whole'
        group by 1 order by mean
    """
    answer = swept.store.sql(query)
    assert answer.names == ["queue", "mean", "n"]
    assert answer.column("queue") == ["5 packets", "10 packets", "20 packets"]
    assert answer.column("n") == [4, 4, 4]
    lists = swept.store.sql("""select "values" from series where metric = 'cwnd' and "of" = 'dccp'""").column("values")
    assert len(lists) == 12 and all(len(list) == 1 for list in lists)
    sweeps = swept.store.sweeps
    assert set(sweeps.column("cell")) == set(swept.cells)
    assert set(sweeps.column("title")) == {"TCP and DCCP share a dumbbell"}
    assert set(sweeps.column("seeds")) == {"0 to 3"}
    for wrong in ("select nothing", "delete from run", ""):
        with pytest.raises(ValueError, match="^the query cannot be answered: "):
            swept.store.sql(wrong)


def test_an_answer_is_a_table_for_pandas_and_polars(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    store = sweep(tmp_path / "store").store
    answer = store.sql('select seed, count(*) as n, avg(value) as mean, metric from "values" group by seed, metric')
    frame = answer.df
    assert list(frame.columns) == ["seed", "n", "mean", "metric"] and len(frame) == len(answer.pl)
    assert [str(frame[name].dtype) for name in ("seed", "n", "mean")] == ["int64", "int64", "float64"]
    files = store.export(tmp_path / "export")
    assert [Path(file).name for file in files] == [
        f"{name}.parquet" for name in ("runs", "values", "series", "scenarios", "settings")
    ]
    runs = polars.read_parquet(files[0])
    assert sorted(runs["digest"]) == sorted(store.sql("select digest from runs").column("digest"))
    with pytest.raises(fw.StoreError, match="runs.parquet"):
        store.export(tmp_path / "export")


def test_queries_count_each_run_once(tmp_path: Path) -> None:
    for seeds in (2, 4, 5):
        swept = sweep(tmp_path, seeds=seeds)
    query = """
        select s.value, count(*), count(distinct v.seed), avg(v.value)
        from "values" v join settings s using (scenario) join scenarios using (scenario)
        where s.path = 'topology.bottleneck.queue.limit' and v."of" = 'dccp' and v.metric = 'goodput'
          and v."window" = 'whole' and v.perturbed
        group by 1
    """
    found = {row[0]: row[1:] for row in rows(swept.store.sql(query))}
    mean = swept.mean("goodput", "dccp")
    expected = dict(zip(mean.column("topology.bottleneck.queue"), mean.column("mean"), strict=True))
    assert found.keys() == expected.keys()
    assert all(row == (5, 5, pytest.approx(expected[queue])) for queue, row in found.items())


def test_a_query_writes_nothing(tmp_path: Path) -> None:
    """It sees what an interrupted sweep has finished, wherever the store is."""
    folder = tmp_path / "run[1]*?'"

    def stop(share: float) -> None:
        if share > 0.1:
            raise KeyboardInterrupt

    sweep(folder)
    with pytest.raises(fw.Interrupted):
        sweep(folder, seeds=range(4, 1000), progress=stop)
    files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    store = fw.Store(folder)
    answer = store.sql("select count(*) as n, count(distinct scenario || seed || perturbed) as keys from runs")
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == files
    assert rows(answer) == [(len(store), len(store))] and len(store) > 12


def test_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    """A table with columns by name would lose one."""
    sweep(tmp_path)
    store = fw.Store(tmp_path)
    with pytest.raises(ValueError, match="two of its columns are called 'seed': name one with 'as'"):
        store.sql("select * from runs join runs as other using (scenario)")
    assert rows(store.sql("select seed as a, seed as b from runs limit 0")) == []


def test_a_query_sees_a_sweep_with_its_axes(tmp_path: Path) -> None:
    """Its view has no runs of other sweeps, and its axes have the types of the tables."""
    axes = {"flows.dccp.dccp.ccid": [2, 3], "topology.bottleneck.queue": ["5 packets", "10 packets"]}
    swept = sweep(tmp_path, axes=axes)
    sweep(tmp_path, axes=axes, duration="2s")
    query = f"""
        select "flows.dccp.dccp.ccid", "topology.bottleneck.queue_packets", count(*), avg(value) from {swept.view}
        where "of" = 'dccp' and metric = 'goodput' and "window" = 'whole' group by 1, 2 order by 1, 2
    """
    found = rows(swept.store.sql(query))
    mean = swept.mean("goodput", "dccp")
    names = ("flows.dccp.dccp.ccid", "topology.bottleneck.queue_packets", "n", "mean")
    expected = sorted(zip(*map(mean.column, names), strict=True))
    assert [row[:3] for row in found] == [row[:3] for row in expected]
    assert [row[3] for row in found] == pytest.approx([row[3] for row in expected])
    assert swept.view in {f"sweep_{id}" for id in swept.store.sweeps.column("sweep")}
    jain = swept.store.sql(f"""select count(*) from {swept.view} where "of" = 'all' and metric = 'jain'""")
    assert rows(jain)[0][0] >= 16


def test_a_query_returns_blobs_as_bytes(tmp_path: Path) -> None:
    """The lists of the store are lists of numbers."""
    store = sweep(tmp_path, seeds=1).store
    answer = store.sql("select x'0001020304050607' as eight, x'00' as one, null as none union all select null, null, x'ff'")
    assert answer.column("eight") == [bytes(range(8)), None] and answer.column("one") == [b"\0", None]
    assert answer.column("none") == [None, b"\xff"] and list(answer.df["none"]) == [None, b"\xff"]
    assert store.sql("select x'00ff' as mixed union all select 'text'").column("mixed") == ["x'00ff'", "text"]
    lists = store.sql("""select "values" as v from series where metric = 'throughput' limit 1""").column("v")
    assert isinstance(lists[0][0], float)


def test_a_damaged_store_is_repaired(tmp_path: Path) -> None:
    """Damage is an error, also where results are read later, and what it hits is done again after a repair."""
    swept = sweep(tmp_path)
    whole = swept.runs.column("digest")
    path = tmp_path / "store.db"
    content = bytearray(path.read_bytes())
    for at in range(len(content) // 2, len(content), 1000):
        content[at] ^= 1
    path.write_bytes(content)
    with pytest.raises(fw.StoreError, match=r"store.db is damaged: .*repair=True"):
        fw.Store(tmp_path).verify()
    with pytest.raises(fw.StoreError, match=r"store.db is damaged"):
        fw.Store(tmp_path).sql("select 1")
    store = fw.Store(tmp_path, repair=True)
    kept = len(store)
    assert kept < 12 and store.damaged == 1
    assert f"kept {kept} run" in str(store.repaired) and fw.Store(tmp_path).repaired is None
    again = sweep(tmp_path)
    assert (again.found, again.done) == (kept, 12 - kept) and again.runs.column("digest") == whole
    assert (tmp_path / "store.db.damaged").exists()
    assert fw.Store(tmp_path).damaged == 1 and swept.cells == again.cells


def test_a_file_that_cannot_grow_is_an_error_and_loses_nothing(tmp_path: Path) -> None:
    program = f"""
import resource, signal
import fairwire as fw
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    fw.sweep({str(DUMBBELL)!r}, axes={QUEUES!r}, seeds=100, duration="1s", store={str(tmp_path)!r})
except fw.StoreError as error:
    print(error)
"""
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert "cannot write" in child.stdout and "store.db: disk I/O error" in child.stdout
    store = fw.Store(tmp_path)
    kept = len(store)
    assert 0 < kept < 300 and store.damaged == 0
    rest = sweep(tmp_path, seeds=100)
    assert (rest.found, rest.done) == (kept, 300 - kept)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("only root may mount a disk")
    yield folder
    # Lazily: results of the test may still read from it.
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.parametrize("engine", ["here", "threads"])
def test_a_full_disk_is_an_error_and_loses_nothing(disk: Path, engine: str) -> None:
    executor = None if engine == "here" else concurrent.futures.ThreadPoolExecutor(2)
    store = disk / "store"
    with pytest.raises(fw.StoreError, match=r"cannot write .*store.db: the disk is full") as caught:
        sweep(store, seeds=200, executor=executor)
    kept = len(fw.Store(store))
    assert 0 < kept < 600 and fw.Store(store).damaged == 0
    assert len(caught.value.results) == kept  # type: ignore[attr-defined]
    subprocess.run(["mount", "-o", "remount,size=20m", str(disk)], check=True)
    rest = sweep(store, seeds=200)
    assert (rest.found, rest.done) == (kept, 600 - kept)


@pytest.mark.parametrize("size", range(88, 136, 4))
def test_a_disk_with_hardly_any_room_is_said_to_be_full(disk: Path, size: int) -> None:
    """The empty store has room, and its log or the index of it has none. The results of the exception can be shown."""
    subprocess.run(["mount", "-o", f"remount,size={size}k", str(disk)], check=True)
    store = disk / "store"
    with pytest.raises(fw.StoreError, match=r"cannot write .*store.db: the disk is full$") as caught:
        sweep(store, seeds=20)
    results = getattr(caught.value, "results", None)
    if results is not None:
        assert "TCP and DCCP share a dumbbell (3 cells" in str(results)
        assert len(fw.Store(store)) == 0
    subprocess.run(["mount", "-o", "remount,size=20m", str(disk)], check=True)
    assert sweep(store, seeds=20).done == 60


def test_results_that_cannot_be_read_are_shown_without_an_exception(tmp_path: Path) -> None:
    swept = sweep(tmp_path)
    content = bytearray((tmp_path / "store.db").read_bytes())
    for at in range(len(content) // 2, len(content), 1000):
        content[at] ^= 1
    (tmp_path / "store.db").write_bytes(content)
    head = repr(swept)[1:-1]
    assert str(swept).startswith(f"{head}: ") and "store.db is damaged" in str(swept)
    assert head in swept._repr_html_()
    with pytest.raises(fw.StoreError, match="store.db is damaged"):
        swept.summary


def test_a_damaged_entry_of_a_sweep_is_not_replaced(tmp_path: Path) -> None:
    sweep(tmp_path)
    with contextlib.closing(sqlite3.connect(tmp_path / "store.db")) as database:
        database.execute("update sweep set json = 'zz'")
        database.commit()
    for _ in range(2):
        with pytest.raises(fw.StoreError, match=r"store.db is damaged: sweep [0-9a-f]{16}: .*repair=True"):
            sweep(tmp_path)
    assert "list-lost" in str(fw.Store(tmp_path, repair=True).repaired)
    assert sweep(tmp_path).found == 12
