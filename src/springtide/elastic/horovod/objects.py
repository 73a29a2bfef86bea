# SPDX-License-Identifier: Apache-2.0
"""Broadcast and allgather of any Python value. Pickles come only from ranks of the same run."""

from __future__ import annotations

import pickle
from typing import Any

from springtide.elastic.groups import Group
from springtide.elastic.horovod import absent, world

__all__ = [
    "allgather_object",
    "barrier",
    "broadcast_object",
]


def broadcast_object(obj: Any = None, root_rank: int = 0, name: str | None = None, process_set: Any = None) -> Any:
    absent.refuse_process_set(process_set)
    group = world.group()
    world.check_root(root_rank)
    if group.size == 1:
        return obj
    return pickle.loads(from_one(group, pickle.dumps(obj) if group.rank == root_rank else b"", root_rank))


def allgather_object(obj: Any, name: str | None = None, process_set: Any = None) -> list[Any]:
    absent.refuse_process_set(process_set)
    return [pickle.loads(each) for each in world.group().allgather(pickle.dumps(obj))]


def barrier(process_set: Any = None) -> None:
    absent.refuse_process_set(process_set)
    world.group().allgather(b"")


def from_one(group: Group, data: bytes, root: int) -> bytearray:
    """The root's bytes; only the root knows their number."""
    length = bytearray(len(data).to_bytes(8, "big"))
    group.broadcast(memoryview(length), root)
    whole = bytearray(data) if group.rank == root else bytearray(int.from_bytes(length, "big"))
    group.broadcast(memoryview(whole), root)
    return whole
