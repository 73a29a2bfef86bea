# SPDX-License-Identifier: Apache-2.0
"""Launchers and workers on a node with its real agent: what a running command survives, and whose ports are whose."""

from __future__ import annotations

import asyncio
import shutil
import signal
import ssl
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlencode

import aiohttp
import pytest
from tests.integration.kubelet.core_world import World, a_program, a_world
from tests.integration.kubelet_serving.node import eventually
from tests.integration.patience import until

from springtide.kube.resources import Obj
from springtide.local.access import pki
from springtide.local.runtime import isolation, remains
from springtide.local.streams.channels import SPDY_PROTOCOL, Wanted, open_command
from springtide.local.streams.dialing import ask
from springtide.local.streams.kubelet import Location
from springtide.local.streams.session import Session

PATIENCE = 30


@pytest.fixture(params=["namespaces", "none"])
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    findings = isolation.probe()
    if request.param == "namespaces" and findings.isolation == "none":
        pytest.skip("; ".join(f"{finding.title}: {finding.why}" for finding in findings.missing))
    # Outside the tree that pytest keeps, because overlay's work directories stop its clean-up.
    data = Path(tempfile.mkdtemp(prefix="tide-"))
    try:
        async with a_world(data, request.param) as made:
            yield made
    finally:
        remains.discard(data)


async def launch(world: World, text: str) -> None:
    """A launcher that may use the API. It is on the host's network, where the server of these tests listens."""
    config = world.shared / "kubeconfig"
    shutil.copy(world.cluster.directory.kubeconfig, config)
    # By its path: this machine may have a kubectl of its own, which a pod finds first.
    text = text.replace("kubectl", "/run/springtide/bin/kubectl")
    program = a_program(text, env=[{"name": "KUBECONFIG", "value": str(config)}])
    await world.bind("launcher", program, restartPolicy="Never", hostNetwork=True)


async def test_a_launcher_runs_commands_in_its_workers(world: World) -> None:
    await world.bind("worker", a_program("sleep 600"))
    await world.until_phase("worker", "Running")
    await launch(world, "echo typed | kubectl exec -i worker -- sh -c 'cat; echo in $HOSTNAME; exit 3'; echo code $?")
    launcher = await world.until_phase("launcher", "Succeeded")
    lines = world.log(launcher).splitlines()
    assert lines[:2] == ["typed", "in worker"]
    assert sorted(lines[2:]) == ["code 3", "command terminated with exit code 3"]


async def test_a_running_command_does_not_notice_a_killed_agent(world: World) -> None:
    await world.bind("worker", a_program("sleep 600"))
    await world.until_phase("worker", "Running")
    go = world.shared / "go"
    waiting = f"while [ ! -e {go} ]; do sleep 0.05; done"
    await launch(world, f"kubectl exec worker -- sh -c 'touch {world.shared}/begun; {waiting}; echo went on; exit 5'")
    await eventually((world.shared / "begun").exists, PATIENCE)
    await world.stop_agent(signal.SIGKILL)
    go.touch()
    world.start_agent()
    launcher = await world.until_phase("launcher", "Failed")
    assert launcher["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 5
    assert "went on" in world.log(launcher)


async def test_a_command_outlives_the_agent_that_carried_its_streams(world: World) -> None:
    await world.bind("worker", a_program("sleep 600"))
    await world.until_phase("worker", "Running")
    go, end = world.shared / "go", world.shared / "end"
    script = f"echo begun; while [ ! -e {go} ]; do sleep 0.05; done; echo unheard; env echo too; touch {end}"
    query = urlencode([("stdout", "1"), ("stderr", "1"), *(("command", word) for word in ("sh", "-c", script))])
    wanted = Wanted(stdout=True, stderr=True)
    async with _session(world, f"worker/exec?{query}", SPDY_PROTOCOL) as session:
        streams = await open_command(session, wanted)
        assert await streams["stdout"].read() == b"begun\n"
        await world.stop_agent(signal.SIGKILL)
        assert await streams["error"].read_all(1000) == b""
    go.touch()
    await eventually(end.exists, PATIENCE)


async def test_a_command_waits_for_an_agent_that_is_being_restarted(world: World) -> None:
    await world.bind("worker", a_program("sleep 600"))
    await world.until_phase("worker", "Running")
    begin = world.shared / "begin"
    await launch(
        world, f"touch {world.shared}/up; while [ ! -e {begin} ]; do sleep 0.05; done; kubectl exec worker echo hi"
    )
    await eventually((world.shared / "up").exists, PATIENCE)
    await world.stop_agent()
    begin.touch()
    await asyncio.sleep(0.5)
    world.start_agent()
    launcher = await world.until_phase("launcher", "Succeeded")
    assert world.log(launcher) == "hi"


def _tls(world: World) -> ssl.SSLContext:
    authority = pki.Authority(world.cluster.directory.pki, datetime.now(UTC))
    return pki.client_context(authority.certificate, pki.admin_pair(authority))


async def _log(world: World, pod: str) -> str:
    url = f"{world.cluster.url}/api/v1/namespaces/default/pods/{pod}/log"
    async with aiohttp.ClientSession() as session, session.get(url, ssl=_tls(world)) as answer:
        return await answer.text()


SERVER = """python3 -c '
import os, socket
with socket.create_server((os.environ["ADDRESS"], 2222)) as server:
    print("listening", flush=True)
    while True:
        with server.accept()[0] as client:
            client.sendall(os.environ["NAME"].encode())
'"""


async def test_ports_are_forwarded_to_the_pod_that_was_asked_for(world: World) -> None:
    env: list[Obj] = [
        {"name": "ADDRESS", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    ]
    if world.isolation == "namespaces":
        env[0] = {"name": "ADDRESS", "value": "127.0.0.1"}  # a pod's own: what port-forward is for
    for name in ("one", "two"):
        await world.bind(name, a_program(SERVER, env=env))
        await until(lambda name=name: _log(world, name), "listening\n".__eq__, PATIENCE)  # type: ignore[misc]
    for name in ("two", "one"):
        assert await _forwarded(world, name) == name.encode()


async def _forwarded(world: World, pod: str) -> bytes:
    async with _session(world, f"{pod}/portforward", "portforward.k8s.io") as session:
        error = await session.open({"streamtype": "error", "port": "2222", "requestid": "0"})
        data = await session.open({"streamtype": "data", "port": "2222", "requestid": "0"})
        said = await data.read_all(100)
        assert said or not await error.read_all(1000)
        return said


@asynccontextmanager
async def _session(world: World, path: str, protocol: str) -> AsyncIterator[Session]:
    headers = (
        ("Host", "x"),
        ("Connection", "Upgrade"),
        ("Upgrade", "SPDY/3.1"),
        ("X-Stream-Protocol-Version", protocol),
    )
    target = f"/api/v1/namespaces/default/pods/{path}"
    answer = await ask(Location("127.0.0.1", world.cluster.port, target, _tls(world)), "POST", headers)
    assert answer.head.status == 101
    async with Session(answer.duplex, server=False) as session:
        yield session
