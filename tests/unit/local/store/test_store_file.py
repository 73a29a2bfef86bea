# SPDX-License-Identifier: Apache-2.0
"""The database file: what survives a restart, what is cleaned away, and what is said when it cannot be used."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import shutil
import sqlite3
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from tests.contract.store.builders import a_key, brief, drop, put, take

from springtide.local.store import open_store
from springtide.local.store.backend import CompactedError, FullError, Record, Store
from springtide.local.store.history import Limits
from springtide.local.store.sqlite import OpenError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@contextlib.asynccontextmanager
async def the_store(path: Path, limits: Limits | None = None) -> AsyncIterator[Store]:
    store = await open_store(path, limits)
    try:
        yield store
    finally:
        await store.close()


def rows(path: Path) -> list[tuple[int, str, str]]:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT revision, name, change FROM log ORDER BY revision").fetchall()


def files_beside(path: Path) -> dict[str, os.stat_result]:
    return {file.name: file.stat() for file in path.parent.iterdir()}


async def test_state_and_history_survive_a_restart(path: Path) -> None:
    async with the_store(path) as store:
        await put(store, "a", "one")
        await put(store, "b")
        await put(store, "a", "two")
        await drop(store, "b")
        listed, events = store.list("configmaps"), await take(store.watch("configmaps", 0), 4)

    async with the_store(path) as store:
        assert (store.revision, store.compacted) == (4, 0)
        assert store.list("configmaps") == listed
        assert await take(store.watch("configmaps", 0), 4) == events
        assert [brief(event) for event in await take(store.watch("configmaps", 2), 2)] == [
            ("MODIFIED", "a", 3),
            ("DELETED", "b", 4),
        ]
        assert (await put(store, "c")).revision == 5


async def test_many_rows_in_one_group_survive_a_restart(path: Path) -> None:
    async with the_store(path) as store:
        await asyncio.gather(*(put(store, f"n{number}") for number in range(300)))
        listed = store.list("configmaps")

    async with the_store(path) as store:
        assert store.list("configmaps") == listed


async def test_names_and_bodies_come_back_as_they_were(path: Path) -> None:
    key = a_key("名字", "", "things.example.com")
    body = bytes(range(256))
    async with the_store(path) as store:
        await store.write(key, None, lambda revision: body)

    async with the_store(path) as store:
        record = store.get(key)
        assert record is not None
        assert (record.key, record.body) == (key, body)


def cut_off(path: Path, copy: Path, size: int) -> Path:
    """What a power failure may leave: the end of the write-ahead log never reached the disk."""
    copy.mkdir()
    shutil.copy(path, copy)
    (copy / "store.db-wal").write_bytes(Path(f"{path}-wal").read_bytes()[:size])
    return copy / path.name


async def test_a_write_ahead_log_cut_off_anywhere_leaves_an_earlier_revision(path: Path, tmp_path: Path) -> None:
    async with the_store(path) as store:
        for number in range(20):
            await put(store, f"n{number % 7}", "x" * 100 * number)
        whole = files_beside(path)["store.db-wal"].st_size
        revisions = []
        for size in range(whole, 0, -5_003):
            async with the_store(cut_off(path, tmp_path / str(size), size)) as left:
                assert left.list("configmaps") == store.list_at("configmaps", left.revision)
                revisions.append(left.revision)

    assert revisions == sorted(revisions, reverse=True)
    assert (revisions[0], len(set(revisions)) > 5) == (20, True)


async def test_only_its_owner_may_read_the_file(path: Path) -> None:
    async with the_store(path) as store:
        await put(store, "secret")
        files = files_beside(path)

    assert {name: file.st_mode & 0o777 for name, file in files.items()} == dict.fromkeys(
        ("store.db", "store.db-revision", "store.db-wal"), 0o600
    )


async def test_the_file_keeps_only_what_is_current_or_recent(path: Path) -> None:
    async with the_store(path, Limits(events=8)) as store:
        await put(store, "kept")
        for _ in range(100):
            await put(store, "a")
            await put(store, "b")
            await drop(store, "b")
        compacted = store.compacted

    kept = rows(path)
    assert kept[0] == (1, "kept", "ADDED")
    assert len(kept) <= 2 + 2 * 8
    assert all(revision > compacted for revision, _, change in kept if change == "DELETED")


async def test_what_was_compacted_stays_so_after_a_restart(path: Path) -> None:
    limits = Limits(events=8)
    async with the_store(path, limits) as store:
        for _ in range(50):
            await put(store, "a")
        compacted = store.compacted

    async with the_store(path, Limits()) as store:
        assert store.compacted == compacted
        with pytest.raises(CompactedError):
            store.watch("configmaps", compacted - 1)
        assert len(await take(store.watch("configmaps", compacted), 50 - compacted)) == 50 - compacted


async def test_revisions_go_on_even_when_the_newest_record_is_gone_from_the_log(path: Path) -> None:
    nothing = Limits(events=0)
    async with the_store(path, nothing) as store:
        await put(store, "a")
        await drop(store, "a")

    assert rows(path) == []
    async with the_store(path, nothing) as store:
        assert (store.revision, store.compacted) == (2, 2)
        assert (await put(store, "a")).revision == 3


async def test_the_file_shrinks_after_much_was_deleted(path: Path) -> None:
    async with the_store(path, Limits(events=10)) as store:
        await asyncio.gather(*(put(store, f"n{number}", "x" * 10_000) for number in range(2_000)))
        await asyncio.gather(*(drop(store, f"n{number}") for number in range(2_000)))
        for _ in range(60):
            await put(store, "a")

    assert files_beside(path)["store.db"].st_size < 10_000_000


async def test_side_files_stay_small_under_many_writes(path: Path) -> None:
    async with the_store(path) as store:
        for _ in range(3):
            await asyncio.gather(*(put(store, f"n{number}", "x" * 10_000) for number in range(1_000)))
        await put(store, "a")
        files = files_beside(path)

    assert files["store.db-wal"].st_size <= 8 << 20
    assert files_beside(path).keys() == {"store.db", "store.db-revision"}


async def test_a_file_in_use_is_refused_by_name(path: Path) -> None:
    async with the_store(path):
        with pytest.raises(OpenError, match=r"store\.db is in use by another process"):
            await open_store(path)


async def test_a_file_of_another_format_is_refused_by_name(path: Path) -> None:
    async with the_store(path):
        pass
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")

    with pytest.raises(
        OpenError, match=r"store\.db has format 99, but this version of Springtide reads up to format 2"
    ):
        await open_store(path)


async def test_a_database_of_another_program_is_refused_and_left_alone(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (x)")

    with pytest.raises(OpenError, match=r"store\.db is a database of another program"):
        await open_store(path)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("theirs",)]


def rewrite(path: Path, change: Callable[[bytes], bytes]) -> None:
    path.write_bytes(change(path.read_bytes()))


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda data: b"this is not a database " * 100, id="another kind of file"),
        pytest.param(lambda data: data[:4096] + b"\xff" * (len(data) - 4096), id="overwritten pages"),
        pytest.param(lambda data: data[:4096], id="cut off"),
    ],
)
async def test_a_damaged_file_is_refused_by_name(path: Path, damage: Callable[[bytes], bytes]) -> None:
    async with the_store(path) as store:
        await asyncio.gather(*(put(store, f"n{number}", "x" * 1000) for number in range(50)))
    rewrite(path, damage)

    with pytest.raises(OpenError, match=r"store\.db is damaged"):
        await open_store(path)


@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("DELETE FROM log WHERE revision = 1", id="a missing revision"),
        pytest.param("UPDATE log SET change = 'ADDED' WHERE revision = 2", id="a wrong change"),
        pytest.param("UPDATE log SET change = 'RENAMED' WHERE revision = 2", id="an unknown change"),
        pytest.param("UPDATE log SET resource = 7 WHERE revision = 2", id="another key"),
        pytest.param("DELETE FROM meta", id="no compacted revision"),
    ],
)
async def test_a_log_that_makes_no_sense_is_refused_by_name(path: Path, statement: str) -> None:
    async with the_store(path) as store:
        await put(store, "a")
        await put(store, "a")
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)

    with pytest.raises(OpenError, match=r"store\.db is damaged"):
        await open_store(path)


async def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(OpenError, match=r"nowhere/store\.db cannot be opened: No such file or directory"):
        await open_store(tmp_path / "nowhere" / "store.db")


async def test_an_interrupted_first_start_is_taken_up(path: Path) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY))

    async with the_store(path) as store:
        assert (await put(store, "a")).revision == 1


@contextlib.contextmanager
def no_file_may_exceed(size: int) -> Iterator[None]:
    """Makes the operating system refuse to let any file of this process grow further."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_a_disk_that_takes_no_more_refuses_writes_and_nothing_else(path: Path) -> None:
    async with the_store(path) as store:
        await put(store, "a", "one")
        watch = store.watch("configmaps", 1)
        with no_file_may_exceed(1 << 20):
            with pytest.raises(FullError, match=r"cannot write .*store\.db"):
                await put(store, "b", "x" * (2 << 20))
            assert [record.body for record in store.list("configmaps")] == [b"one@1"]
            assert (store.revision, watch.revision) == (1, 1)
        assert (await put(store, "b")).revision == 3
        assert [brief(event) for event in await take(watch, 1)] == [("ADDED", "b", 3)]

    async with the_store(path) as store:
        assert [record.revision for record in store.list("configmaps")] == [1, 3]


def mount(disk: Path, options: str) -> bool:
    command = [shutil.which("mount") or "false", "-t", "tmpfs", "-o", options, "tmpfs", str(disk)]
    return subprocess.run(command, capture_output=True).returncode == 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    if not mount(disk, "size=1m"):
        pytest.skip("needs the right to mount a small disk")
    yield disk
    subprocess.run(["umount", disk], check=True)


def fill(disk: Path) -> None:
    with contextlib.suppress(OSError), (disk / "filler").open("wb", buffering=0) as filler:
        while filler.write(bytes(4096)):
            pass


async def test_a_full_disk_recovers_by_itself_when_space_returns(small_disk: Path) -> None:
    path = small_disk / "store.db"
    acknowledged: list[Record] = []

    async def put_until_refused(store: Store) -> None:
        for number in range(1000):
            acknowledged.append(await put(store, f"n{number:03}", "x" * 5000))

    async with the_store(path) as store:
        with pytest.raises(FullError, match="database or disk is full"):
            await put_until_refused(store)
        assert store.list("configmaps") == acknowledged
        assert mount(small_disk, "remount,size=8m")
        acknowledged.append(await put(store, "x"))

    async with the_store(path) as store:
        assert store.list("configmaps") == acknowledged


async def test_a_store_on_a_full_disk_can_be_opened_and_read(small_disk: Path) -> None:
    path = small_disk / "store.db"
    async with the_store(path) as store:
        await put(store, "a", "one")
    fill(small_disk)

    async with the_store(path) as store:
        assert [record.body for record in store.list("configmaps")] == [b"one@1"]
        with pytest.raises(FullError):
            await put(store, "b")
