# SPDX-License-Identifier: Apache-2.0
"""Sums as programs ask for them: of arrays that stay as they are, into others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orders

from springtide import elastic


def prepare(arrays: list[Any], mean: bool) -> Callable[[], object]:
    tree = arrays if len(arrays) > 1 else arrays[0]
    return lambda: elastic.allreduce(tree, average=mean)


@elastic.run
def work(_: elastic.State) -> None:
    orders.follow(prepare, elastic.barrier)


work(elastic.State())
