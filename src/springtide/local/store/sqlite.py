# SPDX-License-Identifier: Apache-2.0
"""Durable log: one SQLite table to which every change is appended and which is read once, at start.

SQLite serves no requests; it only makes groups of changes durable (write-ahead log, one fsync each) on a thread of its
own. Records that neither the state nor the kept history needs are deleted with later groups, so the file stays about as
large as the served state. Only one process at a time may open the file.

A loss of acknowledged changes is detected: a watermark beside the file holds the revision that it must reach, and every
record has a checksum. SQLite checks neither.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sqlite3
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path

from springtide.local.store.backend import Change, Event, FullError, Key, Record, StoreError
from springtide.local.store.history import Limits
from springtide.local.store.logged import Group
from springtide.local.store.memory import Memory
from springtide.local.store.watermark import Watermark

FORMAT = 2
"""Format of the tables below. Format 1, which had no checksums, is migrated when it is opened."""

APPLICATION = int.from_bytes(b"tide")

ROWS = 64
"""Maximum number of rows per INSERT. SQLite releases the GIL around every statement, and under load each return waits
for the event loop: one statement per group commits three times faster than row by row."""

SPARE_PAGES = 1024
"""Free pages kept in the file for the next writes; beyond that they are released, this many at a time."""

SETTINGS = (
    "PRAGMA locking_mode = EXCLUSIVE",  # first: otherwise even reads need a side file, impossible on a full disk
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA wal_autocheckpoint = 2000",
    "PRAGMA journal_size_limit = 8388608",
)

TABLES = (
    """CREATE TABLE log (
        revision INTEGER PRIMARY KEY,
        resource TEXT NOT NULL,
        namespace TEXT NOT NULL,
        name TEXT NOT NULL,
        change TEXT NOT NULL,
        body BLOB NOT NULL,
        checksum INTEGER
    )""",
    # One row. `revision` is at least the highest one assigned when it was written, even if its record is gone.
    "CREATE TABLE meta (compacted INTEGER NOT NULL, revision INTEGER NOT NULL)",
    "INSERT INTO meta VALUES (0, 0)",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {FORMAT}",
)

CHANGES = {change.value: change for change in Change}

_HALF = 32


class OpenError(StoreError):
    """The database cannot be used; the message names the file and the reason."""


class LostError(OpenError):
    """The database holds less than was acknowledged."""


class SqliteLog:
    """A `Log` in a database file."""

    def __init__(self, path: Path, connection: sqlite3.Connection, watermark: Watermark) -> None:
        self._path = path
        self._connection = connection
        self._watermark = watermark
        self._thread = ThreadPoolExecutor(1, "store")

    def commit(self, group: Group, done: Callable[[BaseException | None], None]) -> None:
        loop = asyncio.get_running_loop()

        def finished(future: Future[None]) -> None:
            loop.call_soon_threadsafe(done, future.exception())

        self._thread.submit(self._append, group).add_done_callback(finished)

    async def close(self, last: Group) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close, last)
        self._thread.shutdown()

    def _append(self, group: Group) -> None:
        events, connection = group.events, self._connection
        tidying = bool(group.forget) or not events
        try:
            with connection:  # rolls back after an error
                if tidying or len(events) > ROWS:
                    connection.execute("BEGIN IMMEDIATE")
                if tidying:
                    _tidy(connection, group)
                for start in range(0, len(events), ROWS):
                    rows = events[start : start + ROWS]
                    connection.execute(_insert(len(rows)), _values(rows))
            if events:
                self._watermark.write(events[-1].record.revision)
            if tidying:
                _give_back_pages(connection, SPARE_PAGES)
        except sqlite3.Error as error:
            raise FullError(f"cannot write {self._path}: {error}") from error

    def _close(self, last: Group) -> None:
        # A clean-up that fails is repeated after the next start; everything acknowledged is in the file already.
        with contextlib.suppress(FullError, sqlite3.Error):
            self._append(last)
            _give_back_pages(self._connection, 0)
        self._connection.close()
        self._watermark.close()


def open_log(
    path: Path, limits: Limits | None = None, *, is_new: bool = True, accept_loss: bool = False
) -> tuple[SqliteLog, Memory, Sequence[int]]:
    """Open the log. Returns it, its state and history, and the revisions it no longer needs to hold. Blocks."""
    with _explained(path), contextlib.ExitStack() as undo:
        watermark = Watermark(path)
        # At least 1 for a database that is not new: it must not be empty.
        acknowledged = watermark.read() or int(not is_new)
        if not accept_loss and acknowledged and _is_empty(path):  # before SQLite deletes the write-ahead log
            raise LostError(_lost(path, 0, acknowledged))
        # The file contains secrets: only the owner may read it. SQLite gives its side files the same mode.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        connection = sqlite3.connect(path, timeout=0.2, isolation_level=None, check_same_thread=False)
        undo.callback(connection.close)
        if path.stat().st_size == 0:  # auto_vacuum can only be set on an empty database
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        for setting in SETTINGS:
            connection.execute(setting)
        reaches = _reaches(connection, path)
        if reaches < acknowledged and not accept_loss:
            raise LostError(_lost(path, reaches, acknowledged))
        _bring_up_to_date(connection)
        if reaches < acknowledged:
            _skip_to(connection, acknowledged + 1)
        if accept_loss:
            _drop_damaged(connection)
        memory, unneeded = _restored(connection, limits)
        watermark.write(memory.history.revision)
        undo.pop_all()
    return SqliteLog(path, connection, watermark), memory, unneeded


def _is_empty(path: Path) -> bool:
    try:
        return path.stat().st_size == 0
    except FileNotFoundError:
        return True


def _lost(path: Path, reaches: int, acknowledged: int) -> str:
    return (
        f"{path} ends at revision {reaches}, but changes up to revision {acknowledged} were acknowledged: the file or "
        f"its write-ahead log {path.name}-wal was cut, emptied, replaced or removed"
    )


def _reaches(connection: sqlite3.Connection, path: Path) -> int:
    """The highest revision in the database, 0 for one that has no tables yet."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if tables == 0:
        return 0
    if application != APPLICATION:
        raise OpenError(f"{path} is a database of another program")
    if version > FORMAT:
        raise OpenError(f"{path} has format {version}, but this version of Springtide reads up to format {FORMAT}")
    (reaches,) = connection.execute(
        "SELECT max(revision, (SELECT ifnull(max(revision), 0) FROM log)) FROM meta"
    ).fetchone()
    return int(reaches)


def _bring_up_to_date(connection: sqlite3.Connection) -> None:
    """Create the tables of a new database, or add the checksums to one in format 1."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == FORMAT:
        return
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        if version == 0:
            for statement in TABLES:
                connection.execute(statement)
            return
        connection.execute("ALTER TABLE log ADD COLUMN checksum INTEGER")
        connection.create_function("checksum", 6, checksum, deterministic=True)
        connection.execute("UPDATE log SET checksum = checksum(revision, resource, namespace, name, change, body)")
        connection.execute(f"PRAGMA user_version = {FORMAT}")


def _skip_to(connection: sqlite3.Connection, revision: int) -> None:
    """Continue after `revision`: lost revisions are never reused, and no watch resumes across the gap."""
    with connection:
        connection.execute("UPDATE meta SET compacted = ?, revision = ?", (revision, revision))


def _drop_damaged(connection: sqlite3.Connection) -> None:
    """Delete damaged objects with all their earlier records, so that no old record replaces a damaged one."""
    damaged = {(*record.key,) for _, record, intact in _changes(connection) if not intact}
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("DELETE FROM log WHERE resource = ? AND namespace = ? AND name = ?", sorted(damaged))


def _restored(connection: sqlite3.Connection, limits: Limits | None) -> tuple[Memory, Sequence[int]]:
    compacted, revision = connection.execute("SELECT compacted, revision FROM meta").fetchone()
    changes = list(_changes(connection))
    damaged = {record.revision for _, record, intact in changes if not intact}
    if damaged:  # no history is served, so that no watch or earlier list reads a damaged record
        compacted = revision = max(revision, changes[-1][1].revision)
    memory = Memory(limits, compacted, revision)
    unneeded = memory.restore(((change, record) for change, record, _ in changes), damaged)
    return memory, unneeded


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn an error on opening a database into one clear sentence."""
    try:
        yield
    except OSError as error:
        raise OpenError(f"{path} cannot be opened: {error.strerror}") from error
    except sqlite3.Error as error:
        raise OpenError(f"{path} {_reason(error)}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise OpenError(f"{path} is damaged: {error}") from error


def _reason(error: sqlite3.Error) -> str:
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return "is in use by another process"
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return f"is damaged or not a database: {error}"
    return f"cannot be used: {error}"


def _changes(connection: sqlite3.Connection) -> Iterator[tuple[Change, Record, bool]]:
    """The records, each with whether its body is intact. ValueError when even the key of a record is damaged."""
    rows = connection.execute(
        "SELECT checksum, revision, resource, namespace, name, change, body FROM log ORDER BY revision"
    )
    for expected, *row in rows:
        found = checksum(*row)
        if found >> _HALF != expected >> _HALF:
            raise ValueError(f"the record of revision {row[0]} is not what was written")
        revision, resource, namespace, name, change, body = row
        record = Record(Key(sys.intern(resource), sys.intern(namespace), name), revision, body)
        yield CHANGES[change], record, found == expected


def checksum(revision: int, resource: str, namespace: str, name: str, change: str, body: bytes) -> int:
    """Checksum of the body in the lower half, of everything else in the upper half; SQLite integers are signed."""
    head = "\0".join((str(revision), resource, namespace, name, change))
    return (zlib.crc32(head.encode()) & 0x7FFFFFFF) << _HALF | zlib.crc32(body)


@cache
def _insert(rows: int) -> str:
    return "INSERT INTO log VALUES " + ", ".join(["(?, ?, ?, ?, ?, ?, ?)"] * rows)


def _values(events: Sequence[Event]) -> Sequence[object]:
    values: list[object] = []
    for event in events:
        record = event.record
        row = (record.revision, *record.key, event.change.value, record.body)
        values += row
        values.append(checksum(*row))
    return values


def _tidy(connection: sqlite3.Connection, group: Group) -> None:
    forget = json.dumps(list(group.forget))
    connection.execute("DELETE FROM log WHERE revision IN (SELECT value FROM json_each(?))", (forget,))
    connection.execute("UPDATE meta SET compacted = ?, revision = ?", (group.compacted, group.revision))


def _give_back_pages(connection: sqlite3.Connection, most: int) -> None:
    """Release at most so many free pages of the file (0: all of them), once there are many."""
    (spare,) = connection.execute("PRAGMA freelist_count").fetchone()
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    if spare > SPARE_PAGES and spare > pages // 4:
        # As a script: a plain `execute` stops after the first page.
        connection.executescript(f"PRAGMA incremental_vacuum({most})")
