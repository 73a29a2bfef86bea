# SPDX-License-Identifier: Apache-2.0
"""Garbage collections of processes with very many objects."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from springtide.event_loop.garbage_collection import collect_rarely


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    gc.unfreeze()


def test_existing_objects_are_exempt_and_new_ones_are_collected_after_so_many_allocations() -> None:
    existing = [[] for _ in range(1000)]  # type: list[list[int]]
    collect_rarely(30_000)
    assert gc.get_threshold()[:2] == (30_000, 20)
    assert gc.get_freeze_count() > len(existing)
