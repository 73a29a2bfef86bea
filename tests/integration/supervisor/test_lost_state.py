# SPDX-License-Identifier: Apache-2.0
"""A cluster whose files were lost or damaged while it was down: nothing is started over in silence."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from pathlib import Path

import pytest
from tests.integration.cli.conftest import Tide
from tests.integration.supervisor.conftest import a_pod, agents, create, own_user, phase, shims, until
from tests.integration.supervisor.test_keeping import FOR_EVER, run_pod

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.request import Scope
from springtide.kube.resources import PODS, Key
from springtide.local.datadir import DataDir

pytestmark = pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs /proc")


def killed_with_a_pod(tide: Tide) -> tuple[DataDir, int]:
    tide.ok("up", "-d", "--port", "0")
    place = tide.place()
    shim = run_pod(place)
    tide.kill(place)
    until(lambda: place.server_process() is None and not agents(place))
    return place, shim


@own_user
def test_a_lost_log_is_refused_and_running_pods_are_left_alone_until_the_loss_is_accepted(tide: Tide) -> None:
    place, shim = killed_with_a_pod(tide)
    Path(f"{place.database}-wal").unlink()

    said = tide.error("up", "-d")

    assert "state.db-wal was cut, emptied, replaced or removed" in said
    assert "tide up --accept-data-loss" in said
    assert shims(place) == [shim]
    assert "Cluster 'springtide' is up" in tide.ok("up", "-d", "--accept-data-loss")
    until(lambda: not shims(place))


def damage_pod(place: DataDir) -> None:
    """One byte, as a bad disk would."""
    with contextlib.closing(sqlite3.connect(place.database)) as connection, connection:
        rows = connection.execute("SELECT body FROM log WHERE resource = 'pods' ORDER BY revision DESC")
        body = next(body for (body,) in rows if body is not None and b"begun" in body)
        damaged = body.replace(b"begun", b"bogun")
        connection.execute("UPDATE log SET body = ? WHERE body = ?", (damaged, body))


@own_user
def test_a_damaged_pod_is_named_and_runs_on_and_all_else_is_served(tide: Tide) -> None:
    place, shim = killed_with_a_pod(tide)
    damage_pod(place)

    assert 'the stored object pods "p" in namespace "default" is damaged' in tide.ok("up", "-d")

    async def asked() -> None:
        async with await Client.connect(str(place.kubeconfig)) as client:
            with pytest.raises(errors.ServerError, match='pods "p" in namespace "default" is damaged'):
                await client.get(PODS, Key("default", "p"))
            assert (await client.list(PODS, Scope("default"))).items == []

    asyncio.run(asked())
    asyncio.run(create(place, a_pod("q", FOR_EVER)))
    until(lambda: asyncio.run(phase(place, "q")) == "Running")
    assert shim in shims(place)
