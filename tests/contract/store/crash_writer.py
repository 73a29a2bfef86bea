# SPDX-License-Identifier: Apache-2.0
"""Writes as fast as it can until it is killed, and says on standard output what was acknowledged, line by line.

Run by `test_store_survives_kill` as a process of its own.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
from pathlib import Path

from tests.contract.store.builders import a_key, drop, put

from springtide.local.store import open_store
from springtide.local.store.backend import Store
from springtide.local.store.history import Limits

LIMITS = Limits(events=200, bytes=200_000)
"""Short, so that records are cleaned away all the time."""


async def write_for_ever(store: Store, writer: int, dice: random.Random) -> None:
    while True:
        key = a_key(f"w{writer}-{dice.randrange(5)}")
        delete = store.get(key) is not None and dice.random() < 0.2
        record = await (drop(store, key) if delete else put(store, key, "x" * dice.randrange(3000)))
        # One system call for each line: what is in the pipe was acknowledged, even if the next moment kills us.
        os.write(1, f"{'DELETED' if delete else 'WRITTEN'} {key.name} {record.revision}\n".encode())


async def main(path: Path, seed: int) -> None:
    store = await open_store(path, LIMITS)
    os.write(1, f"OPENED - {store.revision}\n".encode())
    await asyncio.gather(*(write_for_ever(store, writer, random.Random(seed + writer)) for writer in range(8)))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
