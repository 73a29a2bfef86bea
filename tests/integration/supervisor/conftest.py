# SPDX-License-Identifier: Apache-2.0
"""Whole clusters with nodes, and the processes that they are made of."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.integration.cli.conftest import Tide, in_home
from tests.integration.cli.ordinary import nobody_s_home

from springtide.kube.client import Client
from springtide.kube.resources import PODS, Key, Obj
from springtide.local.datadir import DataDir
from springtide.local.supervisor import leftovers

PATIENCE = 60.0


@pytest.fixture(params=["own user", "ordinary user"])
def tide(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Tide]:
    """As whoever runs the tests, and, where that is root, as somebody without rights, too."""
    if request.param == "ordinary user":
        if os.geteuid() != 0:
            pytest.skip("whoever runs the tests is an ordinary user already")
        with nobody_s_home() as tide:
            yield tide
        return
    (tmp_path / "home").mkdir()
    with in_home(tmp_path / "home") as tide:
        yield tide


own_user = pytest.mark.parametrize("tide", ["own user"], indirect=True)
"""For tests of what is the same for root and for an ordinary user: the server, the operator, the database."""


def until(what: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < deadline, "it did not come to this"
        time.sleep(0.1)  # what is asked may take a connection, or a look at all processes


def processes(place: DataDir) -> dict[int, list[str]]:
    """Every process whose command line names the directory, but for the one that runs this test."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if any(str(place.path) in word for word in words):
            found[int(path.parent.name)] = words
    return found


def agents(place: DataDir) -> dict[str, int]:
    """By node."""
    return {
        words[words.index("--node") + 1]: pid
        for pid, words in processes(place).items()
        if "springtide.local.kubelet" in words
    }


def holder(place: DataDir) -> int | None:
    found = [pid for pid, words in processes(place).items() if any("network/__main__.py" in word for word in words)]
    return min(found, default=None)


def shims(place: DataDir) -> list[int]:
    return [pid for pod in leftovers.pods(place) if (pid := leftovers.shim(pod.path)) is not None]


def kill(pid: int | None) -> None:
    assert pid is not None
    os.kill(pid, signal.SIGKILL)


def a_pod(name: str, script: str, **spec: object) -> Obj:
    container = {"name": "main", "image": "x", "command": ["/bin/sh", "-c", script]}
    return PODS.describe(Key("default", name)) | {"spec": {"containers": [container], **spec}}


async def phase(place: DataDir, name: str) -> str:
    async with await Client.connect(str(place.kubeconfig)) as client:
        pod = await client.find(PODS, Key("default", name))
        return str((pod or {}).get("status", {}).get("phase", "gone"))


async def create(place: DataDir, *pods: Obj) -> None:
    async with await Client.connect(str(place.kubeconfig)) as client:
        for pod in pods:
            await client.create(PODS, pod)
