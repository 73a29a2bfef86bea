# SPDX-License-Identifier: Apache-2.0
"""The durable log: one SQLite table to which every change is appended, and which is read once, at start.

SQLite never answers a request; it only makes groups of changes durable (write-ahead log, one fsync each) on a thread of
its own. Records that neither the present nor the kept history needs are dropped along the way, so the file stays about
as large as what is served. One process at a time may hold the file.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path

from springtide.local.store.backend import Change, Event, FullError, Key, Record, StoreError
from springtide.local.store.history import Limits
from springtide.local.store.logged import Group
from springtide.local.store.memory import Memory

FORMAT = 1
"""Of the tables below; raised whenever a database of an earlier one can no longer be read as it is."""

APPLICATION = int.from_bytes(b"tide")

ROWS = 64
"""Most rows inserted by one statement. SQLite gives up Python's lock around every statement, and under load each
return costs a turn of the event loop: a group as one statement commits three times faster than row by row."""

SPARE_PAGES = 1024
"""Free pages kept in the file for the next writes; beyond that they are given back, this many at a time."""

SETTINGS = (
    "PRAGMA locking_mode = EXCLUSIVE",  # first: without it, reading alone needs a side file, which a full disk refuses
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
        body BLOB NOT NULL
    )""",
    # One row. `revision` is at least the highest ever given out when it was written, even if its record is gone.
    "CREATE TABLE meta (compacted INTEGER NOT NULL, revision INTEGER NOT NULL)",
    "INSERT INTO meta VALUES (0, 0)",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {FORMAT}",
)

CHANGES = {change.value: change for change in Change}


class OpenError(StoreError):
    """The database cannot be used; the message names the file and says why."""


class SqliteLog:
    """A `Log` in a database file."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._connection = connection
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
            with connection:  # rolls back what an error left half done
                if tidying or len(events) > ROWS:
                    connection.execute("BEGIN IMMEDIATE")
                if tidying:
                    _tidy(connection, group)
                for start in range(0, len(events), ROWS):
                    rows = events[start : start + ROWS]
                    connection.execute(_insert(len(rows)), _values(rows))
            if tidying:
                _give_back_pages(connection, SPARE_PAGES)
        except sqlite3.Error as error:
            raise FullError(f"cannot write {self._path}: {error}") from error

    def _close(self, last: Group) -> None:
        # A clean-up that does not fit is done after the next start; everything acknowledged is in the file already.
        with contextlib.suppress(FullError, sqlite3.Error):
            self._append(last)
            _give_back_pages(self._connection, 0)
        self._connection.close()


def open_log(path: Path, limits: Limits | None = None) -> tuple[SqliteLog, Memory, Sequence[int]]:
    """The log, the state and history that it holds, and the revisions it need not hold any longer. Blocks."""
    with _explained(path), contextlib.ExitStack() as undo:
        # Secrets are kept in here: nobody else may read it. SQLite gives its side files the same mode.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        connection = sqlite3.connect(path, timeout=0.2, isolation_level=None, check_same_thread=False)
        undo.callback(connection.close)
        if path.stat().st_size == 0:  # the only time when this can be chosen
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        for setting in SETTINGS:
            connection.execute(setting)
        _check_format(connection, path)
        compacted, revision = connection.execute("SELECT compacted, revision FROM meta").fetchone()
        memory = Memory(limits, compacted, revision)
        unneeded = memory.restore(_changes(connection))
        undo.pop_all()
    return SqliteLog(path, connection), memory, unneeded


def _check_format(connection: sqlite3.Connection, path: Path) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if tables == 0:
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            for statement in TABLES:
                connection.execute(statement)
    elif application != APPLICATION:
        raise OpenError(f"{path} is a database of another program")
    elif version != FORMAT:
        raise OpenError(f"{path} has format {version}, but this version of Springtide reads format {FORMAT}")


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn what keeps a database from being opened into one clear sentence."""
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


def _changes(connection: sqlite3.Connection) -> Iterator[tuple[Change, Record]]:
    rows = connection.execute("SELECT revision, resource, namespace, name, change, body FROM log ORDER BY revision")
    for revision, resource, namespace, name, change, body in rows:
        yield CHANGES[change], Record(Key(sys.intern(resource), sys.intern(namespace), name), revision, body)


@cache
def _insert(rows: int) -> str:
    return "INSERT INTO log VALUES " + ", ".join(["(?, ?, ?, ?, ?, ?)"] * rows)


def _values(events: Sequence[Event]) -> Sequence[object]:
    values: list[object] = []
    for event in events:
        record = event.record
        values += (record.revision, *record.key, event.change.value, record.body)
    return values


def _tidy(connection: sqlite3.Connection, group: Group) -> None:
    forget = json.dumps(list(group.forget))
    connection.execute("DELETE FROM log WHERE revision IN (SELECT value FROM json_each(?))", (forget,))
    connection.execute("UPDATE meta SET compacted = ?, revision = ?", (group.compacted, group.revision))


def _give_back_pages(connection: sqlite3.Connection, most: int) -> None:
    """Shrink the file by at most so many pages, or by all that are free when 0, once there are many."""
    (spare,) = connection.execute("PRAGMA freelist_count").fetchone()
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    if spare > SPARE_PAGES and spare > pages // 4:
        # As a script: a plain `execute` stops after the first page.
        connection.executescript(f"PRAGMA incremental_vacuum({most})")
