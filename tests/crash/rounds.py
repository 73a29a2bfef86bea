# SPDX-License-Identifier: Apache-2.0
"""One round: a cluster, writers, watchers and chores; some kills; a verdict. Its seed decides all that can be decided.

The order in which a loaded server takes requests is not ours to fix, so a seed repeats the plan of a round (who writes
what, after how many acknowledged writes the server dies), not every interleaving of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path

from tests import small_disks
from tests.crash.chores import Chores
from tests.crash.process import ServerProcess, session_to
from tests.crash.shapes import DEFINITION_PATH, KEPT_UP, KINDS, NAMESPACE, WIDGET, Kind, definition, stamp_of, wanted
from tests.crash.verdict import Final, judge_history, judge_origin, judge_state
from tests.crash.watchers import Watcher
from tests.crash.writers import Api, Journal, Writer

WRITERS = 6
WATCHERS_PER_KIND = 2
LAST = "the-end"
MOST_BETWEEN_KILLS = 220
DISK = "64m"
FULL_DISKS = 0.4
"""The part of the rounds in which the disk is full for a moment. Without root there is no small disk."""


@dataclass
class Result:
    seed: int
    writes: int = 0
    acknowledged: int = 0
    landed: int = 0
    lost: int = 0
    kills: int = 0
    kills_while_starting: int = 0
    losses: int = 0
    full: int = 0
    """How often the disk was full for a while."""
    refused: int = 0
    events: int = 0
    resumed: int = 0
    chores: int = 0
    violations: list[str] = field(default_factory=list)


async def play(seed: int, directory: Path) -> Result:
    chance = random.Random(seed)
    result = Result(seed)
    data = directory / "data"
    data.mkdir(mode=0o700)
    small = not small_disks.mount(data, directory, DISK)
    server = ServerProcess(data)
    try:
        await server.start()
        async with session_to(server) as session:
            await _play(chance, result, server, Api(session), small)
        if server.stop() != 0:
            result.violations.append("the server did not stop cleanly")
        result.violations += [f"the server's log: {line}" for line in server.complaints()[:5]]
        result.violations += _damage(server.directory / "state.db")
    finally:
        server.kill()
        if small:
            small_disks.unmount(data)
    return result


async def _play(chance: random.Random, result: Result, server: ServerProcess, api: Api, small: bool) -> None:
    await _prepare(api)
    journal, stop = Journal(), asyncio.Event()
    writers = [Writer(api, f"w{n}", random.Random(chance.random()), journal) for n in range(WRITERS)]
    chores = Chores(api, random.Random(chance.random()))
    watchers = [
        Watcher(api, kind, await _revision(api, kind), random.Random(chance.random()))
        for kind in KINDS
        for _ in range(WATCHERS_PER_KIND)
    ]
    async with asyncio.TaskGroup() as group:
        for watcher in watchers:
            group.create_task(watcher.run(LAST))
        working = [group.create_task(writer.run(stop)) for writer in writers]
        working.append(group.create_task(chores.run(stop)))
        for _ in range(chance.randint(1, 2)):
            await _let_write(journal, chance.randrange(MOST_BETWEEN_KILLS))
            await asyncio.sleep(chance.uniform(0, 0.01))
            await _kill_and_restart(chance, result, server, api)
        if small and random.Random(result.seed).random() < FULL_DISKS:
            await _fill_disk(result, server, api)
        await _let_write(journal, chance.randrange(30))
        stop.set()
        await asyncio.wait(working)
        await _judge(result, api, journal, writers)
        for kind in KINDS:
            journal.stamps.add((kind.plural, LAST, LAST))
            code, answer = await api.send("POST", kind.collection, wanted(kind, LAST, LAST))
            assert code == 201, answer
    finals = {kind: (await _list(api, kind))[1] for kind in KINDS}
    for watcher in watchers:
        promises = [promise for promise in journal.acknowledged if promise.kind is watcher.kind]
        result.violations += watcher.violations
        result.violations += judge_history(watcher.kind, watcher.seen, promises, finals[watcher.kind])
        result.violations += judge_origin(watcher.kind, watcher.seen, journal.stamps)
    result.violations += [f"still there after the restart: {what}" for what in await chores.unfinished()]
    result.writes, result.acknowledged = journal.attempts, len(journal.acknowledged)
    result.landed, result.lost, result.chores = journal.landed, journal.lost, len(chores.pending)
    result.refused = journal.refused
    result.events = sum(len(watcher.seen) for watcher in watchers)
    result.resumed = sum(watcher.resumed for watcher in watchers)


async def _prepare(api: Api) -> None:
    await api.send("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    account = {"metadata": {"name": "default"}}
    await api.send("POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", account)  # upkeep may be faster
    await api.send("POST", DEFINITION_PATH, definition("widgets", "Widget"))
    await api.served(WIDGET.collection)


async def _let_write(journal: Journal, count: int) -> None:
    journal.goal = len(journal.acknowledged) + count
    journal.reached.clear()
    await journal.reached.wait()


async def _kill_and_restart(chance: random.Random, result: Result, server: ServerProcess, api: Api) -> None:
    api.up.clear()
    result.kills += 1
    if chance.random() < 0.5:  # the server alone; its supervisor starts another
        await server.kill_server()
        api.up.set()
        return
    server.kill()
    if chance.random() < 0.3:  # and again while it is starting
        server.spawn()
        await asyncio.sleep(chance.uniform(0.1, 0.8))
        server.kill()
        result.kills += 1
        result.kills_while_starting += 1
    if chance.random() < 0.3:
        await _lose_files(chance, result, server)
    await server.start()
    api.up.set()


async def _fill_disk(result: Result, server: ServerProcess, api: Api) -> None:
    """Nothing can be written for a moment; in half of the rounds the server is killed meanwhile."""
    chance = random.Random(-result.seed - 1)  # of its own: the other plans of a seed stay as they are
    result.full += 1
    api.may_be_full = True
    disk = contextlib.ExitStack()
    with disk:
        disk.enter_context(small_disks.filled(server.directory))
        await asyncio.sleep(chance.uniform(0.1, 0.5))
        if chance.random() < 0.5:

            async def make_room() -> None:
                await asyncio.sleep(chance.uniform(0, 0.5))
                disk.close()

            api.up.clear()
            result.kills += 1
            await server.kill_server(make_room)
            api.up.set()


async def _lose_files(chance: random.Random, result: Result, server: ServerProcess) -> None:
    """Take away or cut the database or its log, see the server refuse to start, and put everything back."""
    database = server.directory / "state.db"
    log = database.with_name("state.db-wal")
    kept = {path: path.read_bytes() for path in (database, log) if path.exists()}
    victim = chance.choice(sorted(kept))
    cut = chance.choice([None, 0, chance.randrange(len(kept[victim]) or 1) if victim == log else 0])
    if cut is None:
        victim.unlink()
    else:
        victim.write_bytes(kept[victim][:cut])
    result.losses += 1
    said = await server.fail_to_start()
    if said is None:
        # The end of a log that was being written when the server was killed may hold nothing acknowledged.
        if victim != log or cut is None:
            result.violations.append(f"the server started although {victim.name} was cut to {cut} bytes")
        server.kill()
    elif "were acknowledged" not in said and "damaged" not in said:
        result.violations.append(f"a lost {victim.name} was not explained: {said}")
    log.unlink(missing_ok=True)
    for path, content in kept.items():
        path.write_bytes(content)


async def _judge(result: Result, api: Api, journal: Journal, writers: list[Writer]) -> None:
    newest = max((promise.revision for promise in journal.acknowledged), default=0)
    for kind in KINDS:
        revision, final = await _list(api, kind)
        if revision < newest:
            result.violations.append(f"list of {kind.plural} is at {revision}, but {newest} was acknowledged")
        expected = {name: stamp for w in writers for (k, name), stamp in w.expected.items() if k is kind}
        result.violations += judge_state(kind, expected, final)
    result.violations += journal.violations


async def _list(api: Api, kind: Kind) -> tuple[int, Final]:
    code, answer = await api.insist("GET", kind.collection)
    assert code == 200, answer
    objects = [item for item in answer["items"] if item["metadata"]["name"] != KEPT_UP]
    final = {o["metadata"]["name"]: (stamp_of(kind, o), int(o["metadata"]["resourceVersion"])) for o in objects}
    return int(answer["metadata"]["resourceVersion"]), final


async def _revision(api: Api, kind: Kind) -> int:
    return (await _list(api, kind))[0]


def _damage(database: Path) -> list[str]:
    connection = sqlite3.connect(database)
    try:
        found = [row[0] for row in connection.execute("PRAGMA integrity_check")]
    finally:
        connection.close()
    return [] if found == ["ok"] else [f"{database.name}: {line}" for line in found]
