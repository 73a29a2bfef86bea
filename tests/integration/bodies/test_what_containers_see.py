# SPDX-License-Identifier: Apache-2.0
"""What the agent says about a pod, believed by a shim and looked at from inside; on the host's network."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.integration.bodies.node import Node, a_node

from springtide.kube.resources import CONFIGMAPS, Obj
from springtide.local.environments import making
from springtide.local.environments.environment import Files
from springtide.local.environments.making import Recipe
from springtide.local.kubelet.containers.bodies import Prepared
from springtide.local.runtime import shim_client
from springtide.local.runtime.contract import ContainerBody
from springtide.local.runtime.shim_client import Shim

pytestmark = pytest.mark.usefixtures("namespaces")

LOOK = """
import json, os, pwd, sys
from pathlib import Path
seen = {"argv": sys.argv[1:], "cwd": os.getcwd(), "env": dict(os.environ), "prefix": sys.prefix}
seen["home"] = pwd.getpwuid(os.getuid()).pw_dir
seen["files"] = {path: Path(path).read_text() for path in os.environ["READ"].split(":")}
def writable(path):
    try:
        Path(path, "probe").write_text("x")
    except OSError:
        return False
    return True
seen["writable"] = [path for path in os.environ["WRITE"].split(":") if writable(path)]
Path("/dev/termination-log").write_text("done")
print(json.dumps(seen))
"""


async def run(pod: Obj, shim: Shim, directory: Path, body: ContainerBody) -> str:
    """A container to its end, and what it said."""
    folder = directory / "containers" / body.name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{body.attempt}.body.json").write_bytes(msgspec.json.encode(body))
    await shim.start(body.name, body.attempt)
    async for state in shim.changes():
        if (state.name, state.attempt, state.status) == (body.name, body.attempt, "exited"):
            break
    assert state.exit_code == 0, said(body)
    return said(body)


def said(body: ContainerBody) -> str:
    return "\n".join(line.split(" ", 3)[3] for line in Path(body.log).read_text().splitlines())


async def a_sandbox(node: Node, **spec: Any) -> tuple[Obj, Path, Prepared, Shim]:
    pod, directory = await node.pod(hostNetwork=True, **spec)
    prepared = await node.maker.prepare(pod, directory)
    return pod, directory, prepared, await shim_client.spawn(directory)


async def test_a_container_sees_what_its_pod_asked_for(place: Path) -> None:
    async with a_node(place) as node:
        await node.world.create(CONFIGMAPS, "hosts", data={"hostfile": "w-0 slots=2\n"})
        (place / "host").mkdir()
        mounts = [
            {"name": "mpi", "mountPath": "/etc/mpi"},
            {"name": "scratch", "mountPath": "/data/scratch"},
            {"name": "scratch", "mountPath": "/data/part", "subPathExpr": "of/$(NAME)"},
            {"name": "memory", "mountPath": "/dev/shm"},
            {"name": "host", "mountPath": "/mnt/host", "readOnly": True},
        ]
        container = {
            "command": ["python3", "-c", LOOK],
            "args": ["--name=$(NAME)"],
            "workingDir": "/data/scratch",
            "volumeMounts": mounts,
            "env": [
                {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                {
                    "name": "READ",
                    "value": "/etc/mpi/hostfile:/etc/hostname:/var/run/secrets/kubernetes.io/serviceaccount/namespace",
                },
                {"name": "WRITE", "value": "/etc/mpi:/data/scratch:/data/part:/dev/shm:/mnt/host:/root:/tmp"},
            ],
        }
        volumes = [
            {"name": "mpi", "configMap": {"name": "hosts"}},
            {"name": "scratch", "emptyDir": {}},
            {"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
            {"name": "host", "hostPath": {"path": f"{place}/host"}},
        ]
        pod, directory, prepared, shim = await a_sandbox(node, container=container, volumes=volumes)
        try:
            seen = json.loads(await run(pod, shim, directory, node.maker.container(pod, "c", 0, prepared)))
        finally:
            await shim.end()
            await node.maker.remove(pod)
        assert seen["argv"] == ["--name=p"]
        assert seen["cwd"] == "/data/scratch"
        assert seen["prefix"] == node.maker.environment("i").prefix
        assert (seen["home"], seen["env"]["HOME"]) == ("/root", "/root")
        assert seen["files"]["/etc/mpi/hostfile"] == "w-0 slots=2\n"
        assert seen["files"]["/etc/hostname"] == f"{prepared.body.hostname}\n"
        assert seen["writable"] == ["/data/scratch", "/data/part", "/dev/shm", "/root", "/tmp"]
        assert (directory / "volumes/scratch/of/p/probe").exists()
        assert (directory / "containers/c/0.message").read_text() == "done"
        assert not [name for name in seen["env"] if name.startswith(("XDG", "PYTEST", "LC_A"))]


async def test_a_running_container_sees_a_changed_config_map(place: Path) -> None:
    async with a_node(place) as node:
        await node.world.create(CONFIGMAPS, "hosts", data={"hostfile": "one"})
        container = {
            "command": ["sh", "-c", "until grep two /etc/mpi/hostfile; do sleep 0.02; done"],
            "volumeMounts": [{"name": "mpi", "mountPath": "/etc/mpi"}],
        }
        volumes = [{"name": "mpi", "configMap": {"name": "hosts"}}]
        pod, directory, prepared, shim = await a_sandbox(node, container=container, volumes=volumes)
        try:
            running = asyncio.create_task(run(pod, shim, directory, node.maker.container(pod, "c", 0, prepared)))
            node.changed.clear()
            await node.world.patch(CONFIGMAPS, "hosts", {"data": {"hostfile": "one two"}})
            await node.until_changed()
            await node.maker.refresh(pod, directory)
            assert await running == "one two"
        finally:
            await shim.end()


async def test_containers_of_a_pod_share_a_volume_in_memory(place: Path) -> None:
    async with a_node(place) as node:
        mount = [{"name": "memory", "mountPath": "/shared"}]
        writer = {"command": ["sh", "-c", "echo hello > /shared/word"], "volumeMounts": mount}
        reader = {"name": "i", "image": "i", "command": ["cat", "/shared/word"], "volumeMounts": mount}
        volumes = [{"name": "memory", "emptyDir": {"medium": "Memory"}}]
        pod, directory, prepared, shim = await a_sandbox(
            node, container=writer, initContainers=[reader], volumes=volumes
        )
        try:
            await run(pod, shim, directory, node.maker.container(pod, "c", 0, prepared))
            assert await run(pod, shim, directory, node.maker.container(pod, "i", 0, prepared)) == "hello"
        finally:
            await shim.end()
            await node.maker.remove(pod)
        assert not [name for name in os.listdir("/dev/shm") if pod["metadata"]["uid"] in name]


async def test_an_environment_is_seen_wherever_it_lies(place: Path) -> None:
    """Here it lies under /tmp, which every container has to itself."""
    async with a_node(place) as node:
        examples = place / "examples"
        examples.mkdir()
        (examples / "train.py").write_text("import os, sys; print(sys.prefix, os.getcwd()); open('out', 'w')")
        recipe = Recipe(
            "e",
            python=sys.executable,
            images=("team/e:*",),
            files=(Files(str(examples), "/examples"),),
            workdir="/examples",
        )
        made = await asyncio.to_thread(making.make, node.environments, recipe)
        container = {"image": "team/e:1", "command": ["python", "train.py"]}
        pod, directory, prepared, shim = await a_sandbox(node, container=container)
        try:
            answer = await run(pod, shim, directory, node.maker.container(pod, "c", 0, prepared))
        finally:
            await shim.end()
        assert answer == f"{made.prefix} /examples"
        assert (examples / "out").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to others")
async def test_a_program_of_another_user_can_use_its_volumes(place: Path) -> None:
    async with a_node(place) as node:
        script = (
            "id -u; id -G; cat /var/run/secrets/kubernetes.io/serviceaccount/token > /scratch/t; stat -c %g /scratch/t"
        )
        container = {
            "command": ["sh", "-c", script],
            "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
            "securityContext": {"runAsUser": 4711, "runAsGroup": 4712},
        }
        pod, directory, prepared, shim = await a_sandbox(
            node,
            container=container,
            volumes=[{"name": "scratch", "emptyDir": {}}],
            securityContext={"fsGroup": 4713, "supplementalGroups": [4714]},
        )
        try:
            answer = await run(pod, shim, directory, node.maker.container(pod, "c", 0, prepared))
        finally:
            await shim.end()
        uid, groups, group = answer.splitlines()
        assert (uid, set(groups.split()), group) == ("4711", {"4712", "4713", "4714"}, "4713")
