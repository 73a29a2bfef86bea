# SPDX-License-Identifier: Apache-2.0
"""`kill -9` at random points under write load, again and again on the same file.

Afterwards every acknowledged write is there, revisions have not gone back, and history has neither gap nor duplicate.
SPRINGTIDE_CRASH_ROUNDS says how many rounds; the seed of a round is its number.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.contract.store.builders import put, take
from tests.contract.store.crash_writer import LIMITS

from springtide.local.store import open_store
from springtide.local.store.backend import Change, Store

ROUNDS = int(os.environ.get("SPRINGTIDE_CRASH_ROUNDS", "4"))
REPOSITORY = Path(__file__).parents[3]


class Acknowledged(NamedTuple):
    what: str
    name: str
    revision: int


def run_until_killed(path: Path, seed: int) -> list[Acknowledged]:
    """What a writer was promised before it was killed, some hundreds of writes into its work."""
    after = random.Random(seed).randrange(600)
    command = [sys.executable, "-m", "tests.contract.store.crash_writer", str(path), str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=REPOSITORY) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(1 + after)]
        process.kill()
        lines += process.stdout.readlines()
    said = (line.decode().split() for line in lines if line.endswith(b"\n"))
    return [Acknowledged(what, name, int(revision)) for what, name, revision in said]


def check_state(store: Store, promised: list[Acknowledged]) -> None:
    current = {record.key.name: record for record in store.list("configmaps")}
    for what, name, revision in {entry.name: entry for entry in promised}.values():
        record = current.get(name)
        # A later write may have become durable without its writer hearing of it; an earlier state may not return.
        if record is None:
            assert what == "DELETED" or store.revision > revision
        else:
            assert record.revision > revision or (what, record.revision) == ("WRITTEN", revision)
            assert record.body.endswith(f"@{record.revision}".encode())


async def check_history(store: Store, promised: list[Acknowledged], since: int) -> None:
    """Replaying the kept history over the list at its start must pass all that was promised and end at the present."""
    replayed = {record.key: record for record in store.list_at("configmaps", since)}
    events = await take(store.watch("configmaps", since), 1 if store.revision > since else 0)
    for event in events:
        assert event.previous == replayed.pop(event.record.key, None)
        if event.change is not Change.DELETED:
            replayed[event.record.key] = event.record
    assert sorted(replayed.values(), key=lambda record: record.key) == store.list("configmaps")
    revisions = [event.record.revision for event in events]
    assert revisions == sorted(set(revisions))
    assert {entry.revision for entry in promised if entry.revision > since} <= set(revisions)


def left_behind(path: Path, copy: Path) -> Path:
    """A copy of the files as the kill left them, so that the next writer has to recover from them too."""
    shutil.copytree(path.parent, copy)
    return copy / path.name


@pytest.mark.timeout(60 + 5 * ROUNDS)
async def test_nothing_acknowledged_is_lost_and_nothing_goes_back(tmp_path: Path) -> None:
    path = tmp_path / "data" / "store.db"
    path.parent.mkdir()
    revision = 0
    for seed in range(ROUNDS):
        opened, *promised = run_until_killed(path, seed)
        assert opened.revision == revision
        assert all(entry.revision > opened.revision for entry in promised)

        store = await open_store(left_behind(path, tmp_path / f"round-{seed}"), LIMITS)
        revision = store.revision
        assert revision >= max((entry.revision for entry in promised), default=opened.revision)
        check_state(store, promised)
        await check_history(store, promised, max(opened.revision, store.compacted))
        assert (await put(store, "after")).revision > revision
        await store.close()
