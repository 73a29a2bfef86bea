# SPDX-License-Identifier: Apache-2.0
"""Logs of training pods after their removal, with a real agent that may be killed meanwhile."""

from __future__ import annotations

import asyncio
import signal
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.integration.kubelet.core_world import NODE, PATIENCE, World, a_world
from tests.integration.patience import until

from springtide.kube.request import DeleteOptions
from springtide.kube.resources import PODS, Key
from springtide.local.pod_logs import kept
from springtide.local.pod_logs.kept import Entry
from springtide.local.runtime import remains

SAYS = "echo from $HOSTNAME; sleep 1000"


@pytest.fixture
async def world() -> AsyncIterator[World]:
    data = Path(tempfile.mkdtemp(prefix="tide-"))
    try:
        async with a_world(data, "none") as made:
            yield made
    finally:
        remains.discard(data)


async def create(world: World, name: str, script: str, **labels: str) -> None:
    container = {"name": "main", "image": "busybox", "command": ["sh", "-c", script]}
    spec: dict[str, Any] = {"nodeName": NODE, "terminationGracePeriodSeconds": 1, "containers": [container]}
    metadata = {"name": name, "namespace": "default", "labels": labels}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec | {"restartPolicy": "Never"}}
    await world.client.create(PODS, body)


async def kept_of(world: World, count: int) -> list[Entry]:
    async def listed() -> list[Entry]:
        return kept.entries(world.data_dir / kept.KEPT)

    return await until(listed, lambda found: len(found) >= count, PATIENCE)


def logs_left(world: World) -> list[str]:
    return [path.name for path in (world.data_dir / "logs").glob("*")]


async def no_logs_left(world: World) -> None:
    async def left() -> list[str]:
        return logs_left(world)

    await until(left, lambda names: not names, PATIENCE)


async def test_logs_of_removed_training_pods_are_kept_and_those_of_others_are_not(world: World) -> None:
    await create(world, "mnist-worker-0", "echo failed; exit 1", **{"training-job-name": "mnist"})
    await create(world, "web", "echo web", app="web")
    for name, phase in (("mnist-worker-0", "Failed"), ("web", "Succeeded")):
        await world.until_phase(name, phase)
        await world.client.delete(PODS, Key("default", name))
    [entry] = await kept_of(world, 1)
    await no_logs_left(world)
    pod = kept.read_card(entry.path)
    assert pod is not None
    assert (pod.name, pod.job, pod.node) == ("mnist-worker-0", "mnist", NODE)
    assert (entry.path / "main" / "0.log").read_text().endswith(" F failed\n")


async def test_pods_deleted_by_force_while_the_agent_is_dead_are_kept_by_the_next(world: World) -> None:
    labels = {"training.kubeflow.org/job-name": "mnist"}
    names = [f"w-{index}" for index in range(4)]
    for name in names:
        await create(world, name, SAYS, **labels)
    for name in names:
        await world.until_phase(name, "Running")

    async def spoken() -> int:
        return sum(path.stat().st_size > 0 for path in (world.data_dir / "logs").glob("*/main/0.log"))

    await until(spoken, lambda count: count == len(names), PATIENCE)
    await world.stop_agent(signal.SIGKILL)
    for name in names:
        await world.client.delete(PODS, Key("default", name), DeleteOptions(grace=0))
    world.start_agent()
    for _ in range(3):  # killed again and again, at whatever moment
        await asyncio.sleep(0.7)
        await world.stop_agent(signal.SIGKILL)
        world.start_agent()
    found = await kept_of(world, len(names))
    await no_logs_left(world)
    assert sorted(pod.name for entry in found if (pod := kept.read_card(entry.path))) == names
