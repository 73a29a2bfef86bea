# SPDX-License-Identifier: Apache-2.0
"""From a Pod object to its bodies: of the sandbox, and of each attempt to run a container.

    maker.sandbox(pod, directory)                    at once: etc files and body.json, enough to start the shim
    prepared = await maker.prepare(pod, directory)   the same, and all volumes
    maker.container(pod, "main", 0, prepared)        everything about one attempt, nothing left to look up
    await maker.refresh(pod, directory)              volumes follow configMaps, secrets, labels and tokens
    await maker.remove(pod)                          nothing of the pod is left outside its directory

Every step may be repeated at any time, by another agent too; only differences are written. What is missing raises
`NotReady` with kubelet's wording, and is worth a retry.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.informer import Informers
from springtide.kube.resources import Key, Obj
from springtide.local.environments import advice, code_fetchers, operators, presets
from springtide.local.environments.environment import Environment
from springtide.local.environments.shelf import Environments
from springtide.local.kubelet.containers import etc_files, exec_sockets, programs, rewriting, sandboxes
from springtide.local.kubelet.containers.container_bodies import ContainerBodies, Devices, Prepared
from springtide.local.kubelet.containers.refusals import NOT_HERE, NotReady
from springtide.local.kubelet.node.facts import Facts
from springtide.local.kubelet.sources import Sources
from springtide.local.kubelet.specs import users
from springtide.local.kubelet.tokens import Tokens
from springtide.local.kubelet.volumes.setup import Volume, VolumeError, Volumes
from springtide.local.runtime.contract import ContainerBody, PodBody

__all__ = ["Devices", "Facts", "Maker", "NotReady", "Prepared"]

TOKEN_CHECK = 5.0
"""Seconds between two checks for tokens that should be renewed."""


class Maker:
    def __init__(
        self, client: Client, informers: Informers, facts: Facts, environments: Environments, devices: Devices
    ) -> None:
        self._facts = facts
        self._environments = environments
        self._devices = devices
        self._sources = Sources(client, informers)
        self._tokens = Tokens(client)
        self._volumes = Volumes(client, self._sources, self._tokens, facts)
        self._containers = ContainerBodies(facts, self._sources, devices)
        self._callbacks: list[Callable[[Key], None]] = []
        self._timer: asyncio.TimerHandle | None = None
        facts.exec_directory.mkdir(parents=True, exist_ok=True)
        programs.install(facts.program_directory, facts.node)

    def environment(self, image: str) -> Environment:
        """The environment that replaces an image here. NotReady while that is a preset that was not created yet."""
        if (made := self._environments.made_for(image)) is not None:
            return made
        if (operator := operators.for_image(image)) is not None:
            return operators.stand_in(operator)
        if (fetcher := code_fetchers.for_image(image)) is not None:
            return fetcher
        if (preset := presets.for_image(image)) is not None:
            raise NotReady(NOT_HERE, advice.explain_unmade(image, preset))
        return self._environments.fallback

    def stands_in(self, image: str) -> bool:
        """Whether containers of an image do nothing, like those of an operator that is built in. An environment made
        for the image runs their commands instead."""
        return operators.for_image(image) is not None and self._environments.made_for(image) is None

    def on_change(self, callback: Callable[[Key], None]) -> None:
        """Call `callback` with the key of each pod whose volumes are out of date."""
        self._callbacks.append(callback)
        self._sources.on_change(callback)

    def sandbox(self, pod: Obj, directory: Path) -> PodBody:
        """Write the pod's etc files and `body.json`."""
        return sandboxes.write(pod, directory, self._facts)

    async def prepare(self, pod: Obj, directory: Path, body: PodBody | None = None) -> Prepared:
        """Write the sandbox, if `body` is not given, and set up all volumes; from now on `on_change` covers this
        pod."""
        body = body or self.sandbox(pod, directory)
        if place := zero_byte(pod["spec"].get("volumes"), "spec.volumes"):
            raise NotReady("FailedMount", f"{place} holds a zero byte, which no path can")
        await self._load(pod)
        try:
            volumes = await self._volumes.set_up(pod, directory)
        except VolumeError as error:
            raise NotReady("FailedMount", str(error)) from None
        if not self._facts.isolated:
            self._write_kubeconfig(pod, volumes, directory)
        self._watch_tokens()
        return Prepared(body, directory, volumes, self._warnings(pod))

    def container(self, pod: Obj, name: str, attempt: int, prepared: Prepared) -> ContainerBody:
        """The body of one attempt. Creates parts of volumes and the file for the termination message where they are
        missing."""
        container = _container(pod, name)
        plain = {field: value for field, value in container.items() if field != "env"}  # values may be references
        if place := zero_byte(plain, name):
            why = f"container {place} holds a zero byte, which no command and no path can"
            raise NotReady("CreateContainerConfigError", why)
        environment = self.environment(container.get("image") or "")
        return self._containers.make(pod, container, environment, attempt, prepared)

    async def refresh(self, pod: Obj, directory: Path, *, fresh: bool = False) -> None:
        """Update what the agent writes into volumes; with `fresh` from the server's current state, which may be newer
        than its watches."""
        await self._load(pod, fresh)
        try:
            await self._volumes.refresh(pod, directory)
        except VolumeError as error:
            raise NotReady("FailedMount", str(error)) from None

    async def remove(self, pod: Obj) -> None:
        """Release what a pod holds outside its directory. Nothing of the pod may run any more; only its uid is
        needed."""
        uid = pod["metadata"]["uid"]
        self._sources.forget(uid)
        self._tokens.forget(uid)
        self._devices.release(uid)
        exec_sockets.remove(self._facts.exec_directory, uid)

    async def _load(self, pod: Obj, fresh: bool = False) -> None:
        try:
            await self._sources.load(pod, fresh=fresh)
        except (TimeoutError, errors.ApiError) as error:
            why = str(error) or "timed out waiting for the condition"
            raise NotReady("FailedMount", f"Unable to attach or mount volumes: failed to sync cache: {why}") from None

    def _write_kubeconfig(self, pod: Obj, volumes: Mapping[str, Volume], directory: Path) -> None:
        account = _account_volume(pod)
        if account is not None:
            text = rewriting.kubeconfig(self._facts.server, volumes[account].path, pod["metadata"]["namespace"])
            etc_files.write(directory / "etc", {"kubeconfig": text})

    def _warnings(self, pod: Obj) -> tuple[tuple[str, str], ...]:
        ignored = "" if self._facts.is_root else users.ignored(pod, self._facts.uid)
        hopeless = "" if self._facts.isolated else rewriting.cannot_work(pod)
        found = (("SecurityContextIgnored", ignored), ("NoNamespaces", hopeless))
        return tuple((reason, message) for reason, message in found if message)

    # Tokens

    def _watch_tokens(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(TOKEN_CHECK, self._check_tokens)

    def _check_tokens(self) -> None:
        self._timer = None
        for uid in self._tokens.due():
            if pod := self._sources.pod(uid):
                for callback in self._callbacks:
                    callback(pod)
        if self._tokens:
            self._watch_tokens()


def _container(pod: Mapping[str, Any], name: str) -> Obj:
    spec = pod["spec"]
    kinds = ("containers", "initContainers", "ephemeralContainers")
    found: Obj = next(each for kind in kinds for each in spec.get(kind) or () if each["name"] == name)
    return found


def _account_volume(pod: Mapping[str, Any]) -> str | None:
    spec = pod["spec"]
    containers = (*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))
    mounts = (mount for container in containers for mount in container.get("volumeMounts") or ())
    return next((mount["name"] for mount in mounts if mount["mountPath"] == rewriting.ACCOUNT), None)


def zero_byte(value: Any, path: str) -> str:
    """The path of a string in `value` that holds a zero byte, which Kubernetes allows everywhere and no system call
    does."""
    if isinstance(value, str):
        return path if "\0" in value else ""
    parts: Iterable[tuple[str, Any]] = ()
    if isinstance(value, Mapping):
        parts = ((f"{path}.{name}", inner) for name, inner in value.items())
    elif isinstance(value, list):
        parts = ((f"{path}[{index}]", inner) for index, inner in enumerate(value))
    return next((found for name, inner in parts if (found := zero_byte(inner, name))), "")
