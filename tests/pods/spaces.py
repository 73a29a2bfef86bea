# SPDX-License-Identifier: Apache-2.0
"""A namespace of its own for each test, and what tests do in it: create, wait, read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.conformance.programs import Kubectl
from tests.pods.clusters import Cluster

from springtide.kube.client import Client
from springtide.kube.errors import BadRequest, NotFound
from springtide.kube.request import DeleteOptions, Patch, Request, Scope, path_of
from springtide.kube.resources import CONFIGMAPS, EVENTS, PODS, SECRETS, SERVICES, Key, Obj, Resource

KNOWN = {resource.kind: resource for resource in (PODS, SERVICES, CONFIGMAPS, SECRETS)}
ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True)
class Space:
    client: Client
    cluster: Cluster
    name: str
    kubectl: Kubectl

    def key(self, name: str) -> Key:
        return Key(self.name, name)

    # Creating

    async def create(self, *objects: Obj, resource: Resource | None = None) -> None:
        for obj in objects:
            body = obj | {"metadata": obj["metadata"] | {"namespace": self.name}}
            await self.client.create(resource or KNOWN[obj["kind"]], body)

    async def run(self, *pods: Obj) -> str:
        """Create pods, wait until all have ended; what the first one wrote."""
        await self.create(*pods)
        for one in pods:
            await self.ended(one["metadata"]["name"])
        return await self.log(pods[0]["metadata"]["name"])

    async def start(self, *pods: Obj) -> Obj:
        """Create pods, wait until all are ready; the last one."""
        await self.create(*pods)
        seen: Obj = {}
        for one in pods:
            seen = await self.ready(one["metadata"]["name"])
        return seen

    async def apply(self, *objects: Obj) -> None:
        """Bring objects to be as given, whoever made them."""
        for obj in objects:
            body = obj | {"metadata": obj["metadata"] | {"namespace": self.name}}
            await self.client.apply(KNOWN[obj["kind"]], body, field_manager="tests")

    async def change(self, obj: Obj) -> None:
        """Merge into an object; what is null goes."""
        await self.client.patch(KNOWN[obj["kind"]], self.key(obj["metadata"]["name"]), obj)

    async def patch_status(self, name: str, change: Obj) -> None:
        await self.client.patch(PODS, self.key(name), change, Patch.STRATEGIC, subresource="status")

    async def settle(self) -> None:
        """Until a node agent has surely heard of what was created before: pods only wait for what they name."""
        await asyncio.sleep(0.5 if self.cluster.is_embedded else 2.0)

    # Waiting

    async def until(self, name: str, accept: Callable[[Obj], object]) -> Obj:
        """The pod when it is as wanted; as it is at last in the failure."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.cluster.patience
        while True:
            seen = await self.client.get(PODS, self.key(name))
            if accept(seen):
                return seen
            if loop.time() > deadline:
                raise AssertionError(f"still: {seen.get('status')}\n{await self.events(name)}")
            await asyncio.sleep(0.03)

    async def phase(self, name: str, *phases: str) -> Obj:
        return await self.until(name, lambda seen: seen["status"]["phase"] in phases)

    async def ended(self, name: str = "p") -> Obj:
        return await self.phase(name, *ENDED)

    async def ready(self, name: str = "p") -> Obj:
        return await self.until(name, lambda seen: condition(seen, "Ready")["status"] == "True")

    async def gone(self, name: str = "p") -> None:
        await self.eventually(lambda: self.client.find(PODS, self.key(name)), lambda found: found is None)

    async def eventually(self, ask: Callable[[], Any], accept: Callable[[Any], object], patience: float = 0.0) -> Any:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + max(patience, self.cluster.patience)
        while True:
            answer = await ask()
            if accept(answer):
                return answer
            assert loop.time() < deadline, f"still: {answer}"
            await asyncio.sleep(0.03)

    async def says(self, name: str, text: str, container: str = "") -> str:
        """The log once it has this text in it."""
        found: str = await self.eventually(lambda: self._log_so_far(name, container), lambda log: text in log)
        return found

    async def _log_so_far(self, name: str, container: str) -> str:
        try:
            return await self.log(name, container)
        except (BadRequest, NotFound):  # no container yet, or a node that has not heard of it
            return ""

    async def event(self, name: str, reason: str, text: str = "") -> str:
        """The message of an event about a pod, once there is one, with this text in it."""

        async def matching() -> list[str]:
            return [message for found, message in await self.events(name) if found == reason and text in message]

        return str((await self.eventually(matching, bool))[0])

    # Reading

    async def log(self, name: str = "p", container: str = "", **query: str) -> str:
        if container:
            query["container"] = container
        path = path_of(PODS, self.name, name, "log")
        return (await self.client.raw(Request("GET", path, query))).body.decode()

    async def events(self, name: str) -> list[tuple[str, str]]:
        """Reason and message."""
        found = await self.client.list(EVENTS, Scope(self.name, fields=f"involvedObject.name={name}"))
        return [(event["reason"], event["message"]) for event in found.items]

    # Ending

    async def delete(self, name: str = "p", grace: int | None = None) -> None:
        await self.client.delete(PODS, self.key(name), DeleteOptions(grace=grace))

    async def delete_and_see(self, name: str = "p", grace: int | None = None) -> Obj:
        """Delete a pod that `kept` keeps from vanishing: its last state, once its containers are gone."""
        await self.delete(name, grace)
        return await self.until(name, lambda seen: all("terminated" in state(seen, each) for each in containers(seen)))


FINALIZER = "springtide.dev/kept"


def kept(manifest: Obj) -> Obj:
    """A pod whose object stays when it is deleted, so that its end can be looked at."""
    manifest["metadata"]["finalizers"] = [FINALIZER]
    return manifest


def condition(seen: Obj, kind: str) -> Obj:
    found = [one for one in seen["status"].get("conditions") or () if one["type"] == kind]
    return found[0] if found else {"status": "Unknown"}


def containers(seen: Obj) -> list[str]:
    return [one["name"] for one in seen["spec"]["containers"]]


def status(seen: Obj, container: str = "main") -> Obj:
    """Of one container, whichever kind of container it is."""
    for field in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        for one in seen["status"].get(field) or ():
            if one["name"] == container:
                return dict(one)
    return {"name": container, "state": {}, "lastState": {}, "restartCount": 0, "ready": False}


def state(seen: Obj, container: str = "main") -> Obj:
    return dict(status(seen, container)["state"])


def waiting(seen: Obj, container: str = "main") -> str:
    """Why a container waits, if it does."""
    return str((state(seen, container).get("waiting") or {}).get("reason", ""))


def last_state(seen: Obj, container: str = "main") -> Obj:
    return dict(status(seen, container)["lastState"])


def restarts(seen: Obj, container: str = "main") -> int:
    return int(status(seen, container)["restartCount"])
