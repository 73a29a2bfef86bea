# SPDX-License-Identifier: Apache-2.0
"""GPUs from the command line to a program's environment, with ones that do not exist."""

from __future__ import annotations

import asyncio

from tests.integration.cli.conftest import Tide
from tests.integration.supervisor.conftest import a_pod, create, phase, until

from springtide.kube.client import Client
from springtide.kube.resources import PODS, Key, Obj
from springtide.local.datadir import DataDir

SAY = 'echo "sees $CUDA_VISIBLE_DEVICES."; trap "exit 0" TERM; while true; do sleep 0.1; done'


def with_resources(name: str, **amounts: str) -> Obj:
    pod = a_pod(name, SAY)
    pod["spec"]["containers"][0]["resources"] = {"limits": {f"nvidia.com/{what}": n for what, n in amounts.items()}}
    return pod


def said(place: DataDir, name: str) -> str:
    return "".join(path.read_text() for path in (place.path / "logs").glob(f"default_{name}_*/main/*.log"))


async def message(place: DataDir, name: str) -> str:
    async with await Client.connect(str(place.kubeconfig)) as client:
        pod = await client.get(PODS, Key("default", name))
    return "".join(one.get("message", "") for one in pod["status"].get("conditions") or ())


async def delete(place: DataDir, name: str) -> None:
    async with await Client.connect(str(place.kubeconfig)) as client:
        await client.delete(PODS, Key("default", name))


def test_each_gpu_is_one_pod_s_until_it_ends(tide: Tide) -> None:
    tide.ok("up", "-d", "--port", "0", "--fake-gpus", "2")
    place = tide.place()
    asyncio.run(create(place, *(with_resources(name, gpu="1") for name in ("a", "b", "c"))))
    names = ("a", "b", "c")

    def waiting() -> list[str]:
        return [name for name in names if asyncio.run(phase(place, name)) == "Pending"]

    until(lambda: len(waiting()) == 1)
    (last,) = waiting()
    first, second = (name for name in names if name != last)
    until(lambda: "sees" in said(place, first) and "sees" in said(place, second))
    assert said(place, first)[-len("sees 0.\n") :] != said(place, second)[-len("sees 0.\n") :]
    until(lambda: "Insufficient nvidia.com/gpu" in asyncio.run(message(place, last)))
    asyncio.run(delete(place, first))
    until(lambda: asyncio.run(phase(place, last)) == "Running")


def test_shares_of_a_gpu_are_had_by_several(tide: Tide) -> None:
    tide.ok("up", "-d", "--port", "0", "--node", "a=cpu:4,nvidia.com/vgpu:10,nvidia.com/gpumem:4k")
    place = tide.place()
    asyncio.run(create(place, *(with_resources(name, vgpu="1", gpumem="2k") for name in ("a", "b"))))
    until(lambda: said(place, "a") and said(place, "b"))
    asyncio.run(create(place, with_resources("c", vgpu="1", gpumem="1")))
    until(lambda: "Insufficient nvidia.com/gpumem" in asyncio.run(message(place, "c")))
