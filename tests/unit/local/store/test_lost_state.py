# SPDX-License-Identifier: Apache-2.0
"""A database that holds less than was acknowledged is refused; a damaged object is named, the rest is served."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.contract.store.builders import a_key, put, take
from tests.unit.local.store.test_store_file import files_beside

from springtide.local.store import open_store
from springtide.local.store.backend import CompactedError, DamagedError
from springtide.local.store.sqlite import FORMAT, LostError
from springtide.local.store.watermark import Watermark


@pytest.fixture
async def killed(tmp_path: Path) -> Path:
    """What `kill -9` leaves after twelve writes: most of them in the write-ahead log alone."""
    path = tmp_path / "running" / "state.db"
    path.parent.mkdir()
    store = await open_store(path)
    for number in range(12):
        await put(store, f"n{number}", "x" * 500)
    shutil.copytree(path.parent, tmp_path / "killed")
    await store.close()
    return tmp_path / "killed" / "state.db"


def lose_log(path: Path) -> None:
    Path(f"{path}-wal").unlink()


def cut_log(path: Path) -> None:
    log = Path(f"{path}-wal")
    log.write_bytes(log.read_bytes()[:-5_000])


def empty_database(path: Path) -> None:
    path.write_bytes(b"")


def lose_database(path: Path) -> None:
    path.unlink()


def lose_both(path: Path) -> None:
    lose_database(path)
    lose_log(path)


LOSSES = [lose_log, cut_log, empty_database, lose_database, lose_both]


@pytest.mark.parametrize("lose", LOSSES)
async def test_a_database_that_holds_less_than_was_acknowledged_is_refused(
    killed: Path, lose: Callable[[Path], None]
) -> None:
    lose(killed)

    for _ in range(2):  # the refusal itself must not make the loss look like a new cluster
        with pytest.raises(LostError, match=r"state\.db ends at revision \d+, but changes up to revision 12 were"):
            await open_store(killed)


@pytest.mark.parametrize("lose", LOSSES)
async def test_what_is_left_is_served_when_the_loss_is_accepted(killed: Path, lose: Callable[[Path], None]) -> None:
    lose(killed)

    store = await open_store(killed, accept_loss=True)
    try:
        assert len(store.list("configmaps")) < 12
        assert (store.revision, store.compacted) == (13, 13)
        with pytest.raises(CompactedError):  # whoever watched across the loss must list again
            store.watch("configmaps", 12)
        assert (await put(store, "later")).revision == 14
    finally:
        await store.close()

    store = await open_store(killed)  # accepted once is enough
    assert store.revision == 14
    await store.close()


async def test_a_log_that_was_only_killed_is_complete(killed: Path) -> None:
    store = await open_store(killed)
    assert (len(store.list("configmaps")), store.revision, store.damaged) == (12, 12, [])
    await store.close()


async def test_without_a_watermark_a_database_that_must_hold_something_is_refused_when_it_is_empty(
    tmp_path: Path,
) -> None:
    with pytest.raises(LostError):
        await open_store(tmp_path / "state.db", is_new=False)
    assert not files_beside(tmp_path / "state.db")


@pytest.mark.parametrize("content", [b"", b"x", b"\0" * 21, b"12"])
async def test_a_torn_watermark_is_written_anew(killed: Path, content: bytes) -> None:
    Watermark(killed).path.write_bytes(content)

    await (await open_store(killed)).close()

    assert Watermark(killed).read() == 12


@pytest.mark.parametrize("content", [b"", b"x", b"\0" * 21, b"12"])
@pytest.mark.parametrize("lose", [lose_log, empty_database, lose_database, lose_both])
async def test_a_torn_watermark_does_not_make_a_lost_database_a_new_cluster(
    killed: Path, lose: Callable[[Path], None], content: bytes
) -> None:
    """How much was lost cannot be said then, only that there must be something."""
    Watermark(killed).path.write_bytes(content)
    lose(killed)

    for _ in range(2):
        with pytest.raises(LostError, match=r"state\.db ends at revision 0, but changes up to revision"):
            await open_store(killed)


def test_a_watermark_appears_with_its_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`kill -9` at any moment of the first start must not leave an empty one, which counts as torn."""
    watermark, seen = Watermark(tmp_path / "state.db"), []

    def write(*_: object) -> int:
        seen.append(watermark.path.exists())
        return 0

    monkeypatch.setattr(os, "write", write)
    watermark.write(0)
    assert seen == [False]
    assert not list(tmp_path.iterdir())


def damage(path: Path, name: str) -> None:
    """One byte of its body, as a bad disk would: SQLite does not notice."""
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        ((body,),) = connection.execute("SELECT body FROM log WHERE name = ?", (name,)).fetchall()
        changed = body[:5] + bytes([body[5] ^ 1]) + body[6:]
        connection.execute("UPDATE log SET body = ? WHERE name = ?", (changed, name))


async def test_a_damaged_object_is_named_and_the_rest_is_served(killed: Path) -> None:
    damage(killed, "n7")

    store = await open_store(killed)
    try:
        assert [key.name for key in store.damaged] == ["n7"]
        assert {record.key.name for record in store.list("configmaps")} == {f"n{number}" for number in range(12)} - {
            "n7"
        }
        with pytest.raises(DamagedError, match='configmaps "n7" in namespace "default" is damaged'):
            store.get(a_key("n7"))
        with pytest.raises(DamagedError):
            await put(store, "n7")
        with pytest.raises(CompactedError):
            store.watch("configmaps", 3)
        watch = store.watch("configmaps", store.revision)
        await put(store, "other")
        assert [event.record.key.name for event in await take(watch, 1)] == ["other"]
    finally:
        await store.close()


async def test_a_damaged_object_is_given_up_when_the_loss_is_accepted(killed: Path) -> None:
    damage(killed, "n7")

    store = await open_store(killed, accept_loss=True)
    assert (store.get(a_key("n7")), list(store.damaged), len(store.list("configmaps"))) == (None, [], 11)
    await put(store, "n7")
    await store.close()


async def test_damage_to_the_past_costs_the_history_alone(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    store = await open_store(path)
    await put(store, "a", "one")
    await put(store, "a", "two")
    await store.close()
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE log SET body = x'00' WHERE revision = 1")

    store = await open_store(path)
    assert (list(store.damaged), len(store.list("configmaps")), store.compacted) == ([], 1, 2)
    await store.close()


async def test_a_database_without_checksums_gets_them(killed: Path) -> None:
    await (await open_store(killed)).close()
    with contextlib.closing(sqlite3.connect(killed)) as connection, connection:
        connection.execute("ALTER TABLE log DROP COLUMN checksum")
        connection.execute("PRAGMA user_version = 1")

    for _ in range(2):
        store = await open_store(killed)
        assert (len(store.list("configmaps")), list(store.damaged)) == (12, [])
        await store.close()
    with contextlib.closing(sqlite3.connect(killed)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (FORMAT,)
