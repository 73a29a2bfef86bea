# SPDX-License-Identifier: Apache-2.0
"""Pods bound to a node, with a real API server, a real agent and real processes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.integration.kubelet.core_world import World, a_program, a_world


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path, "none") as made:
        yield made


async def test_a_pod_that_prints_and_ends_has_succeeded(world: World) -> None:
    await world.bind("hello", a_program("echo hello"), restartPolicy="Never")
    pod = await world.until_phase("hello", "Succeeded")
    assert world.log(pod) == "hello"
    state = pod["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (state["exitCode"], state["reason"]) == (0, "Completed")
