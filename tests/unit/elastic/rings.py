# SPDX-License-Identifier: Apache-2.0
"""Rings of real sockets, one thread per rank."""

from __future__ import annotations

import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from springtide.elastic.ranks.transports.ring import Ring

R = TypeVar("R")


def rings(size: int) -> list[Ring]:
    pairs = [socket.socketpair() for _ in range(size)]
    return [Ring(pairs[rank - 1][1], pairs[rank][0], rank, size) for rank in range(size)]


def together(size: int, what: Callable[[Ring], R]) -> list[R]:
    members = rings(size)
    try:
        with ThreadPoolExecutor(size) as pool:
            return list(pool.map(what, members))
    finally:
        for each in members:
            each.close()
