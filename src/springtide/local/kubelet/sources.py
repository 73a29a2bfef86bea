# SPDX-License-Identifier: Apache-2.0
"""ConfigMaps, secrets and services that pods here refer to, watched as long as a pod needs them.

One watch for each namespace that has pods of this node, not one for each object as in kubelet: a hundred connections
cost more than a few unneeded objects. Reading never waits. The watch may not have delivered the latest writes yet;
`load` requests missing objects from the server, so that a pod created right after its configMap starts at once, and all
objects if `fresh` is set.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from springtide.kube.client import Client
from springtide.kube.informer import Informer, Informers
from springtide.kube.request import Scope
from springtide.kube.resources import CONFIGMAPS, SECRETS, SERVICES, Key, Resource
from springtide.local.kubelet.specs import ssh_keys
from springtide.local.kubelet.specs.variables import Service

PATIENCE = 10.0
"""Seconds to wait for the initial list of a watch."""


class Reference(NamedTuple):
    """One configMap or secret."""

    kind: str
    key: Key


class _Need(NamedTuple):
    pod: Key
    references: frozenset[Reference]


class _Early(NamedTuple):
    """An object read from the server before the watch delivered it."""

    version: int
    object: Any


class ConfigMap(msgspec.Struct, frozen=True, rename="camel"):
    data: dict[str, str] | None = None
    binary_data: dict[str, bytes] | None = None

    def contents(self) -> dict[str, str | bytes]:
        return {**(self.data or {}), **(self.binary_data or {})}


class Secret(msgspec.Struct, frozen=True):
    data: dict[str, bytes] | None = None
    type: str = ""


_KINDS: Mapping[str, tuple[Resource, type[Any]]] = {
    "ConfigMap": (CONFIGMAPS, ConfigMap),
    "Secret": (SECRETS, Secret),
}


class Sources:
    def __init__(self, client: Client, informers: Informers) -> None:
        self._client = client
        self._informers = informers
        self._followed: dict[tuple[str, str], Informer[Any]] = {}
        self._needed: dict[str, _Need] = {}
        self._early: dict[Reference, _Early] = {}
        self._handlers: list[Callable[[Key], None]] = []
        self._services = informers.of(SERVICES, into=Service)

    # Reading

    def config_map(self, key: Key) -> ConfigMap | None:
        found: ConfigMap | None = self._find(Reference("ConfigMap", key))
        return found

    def secret(self, key: Key) -> Secret | None:
        found: Secret | None = self._find(Reference("Secret", key))
        return found

    def private_key(self, key: Key) -> str:
        """The name of the private SSH key in a secret; empty if it has none."""
        found = self.secret(key)
        return "" if found is None else ssh_keys.private_key(found.type, found.data or {})

    def services(self, namespace: str) -> list[Service]:
        return self._services.objects(namespace)

    def api_server(self) -> Service | None:
        """The service by which pods find the API server."""
        return self._services.get(Key("default", "kubernetes"))

    def _find(self, reference: Reference) -> Any:
        early = self._early.get(reference)
        if early is not None and early.version > self._version(reference):
            return early.object
        informer = self._followed.get((reference.kind, reference.key.namespace))
        return informer.get(reference.key) if informer is not None else None

    def _version(self, reference: Reference) -> int:
        """The version delivered by the watch, 0 for none; versions are numbers on every server."""
        informer = self._followed.get((reference.kind, reference.key.namespace))
        return int((informer.version(reference.key) if informer is not None else "") or 0)

    # Watching

    def on_change(self, handler: Callable[[Key], None]) -> None:
        """Call `handler` with the key of each pod that refers to an object that was added, changed or deleted."""
        self._handlers.append(handler)

    async def load(self, pod: Mapping[str, Any], *, fresh: bool = False) -> None:
        """Watch the objects that this pod refers to; with `fresh`, read them from the server now. TimeoutError when it
        does not answer."""
        wanted = frozenset(references_of(pod))
        self._needed[pod["metadata"]["uid"]] = _Need(Key.of(pod), wanted)
        async with asyncio.timeout(PATIENCE):
            await self._services.wait_synced()
            for kind, namespace in {(reference.kind, reference.key.namespace) for reference in wanted}:
                await self._follow(kind, namespace).wait_synced()
            missing = [reference for reference in wanted if fresh or self._find(reference) is None]
            await asyncio.gather(*(self._ask(reference) for reference in missing))

    def forget(self, uid: str) -> None:
        """Stop watching what only this pod needed."""
        self._needed.pop(uid, None)
        references = {reference for need in self._needed.values() for reference in need.references}
        for followed in self._followed.keys() - {(kind, key.namespace) for kind, key in references}:
            self._informers.drop(self._followed.pop(followed))
        for reference in self._early.keys() - references:
            del self._early[reference]

    def pod(self, uid: str) -> Key | None:
        """The key of a pod that was loaded and not forgotten."""
        need = self._needed.get(uid)
        return None if need is None else need.pod

    def _follow(self, kind: str, namespace: str) -> Informer[Any]:
        informer = self._followed.get((kind, namespace))
        if informer is None:
            resource, into = _KINDS[kind]
            informer = self._informers.of(resource, Scope(namespace), into=into)
            self._followed[kind, namespace] = informer
            informer.on_change(lambda key: self._changed(Reference(kind, key)))
        return informer

    async def _ask(self, reference: Reference) -> None:
        resource, into = _KINDS[reference.kind]
        found = await self._client.find(resource, reference.key)
        if found is None:
            return
        version = int(found["metadata"]["resourceVersion"])
        if version > self._version(reference):
            self._early[reference] = _Early(version, msgspec.convert(found, into))

    def _changed(self, reference: Reference) -> None:
        early, version = self._early.get(reference), self._version(reference)
        if early is not None and (not version or version >= early.version):
            del self._early[reference]
        pods = [need.pod for need in self._needed.values() if reference in need.references]
        for pod in pods:
            for handler in self._handlers:
                handler(pod)


def references_of(pod: Mapping[str, Any]) -> set[Reference]:
    """Every configMap and secret that a pod's volumes and variables refer to."""
    namespace, spec = pod["metadata"]["namespace"], pod["spec"]
    found: set[tuple[str, str]] = set()
    for volume in spec.get("volumes") or ():
        found |= _of_volume(volume)
        for part in (volume.get("projected") or {}).get("sources") or ():
            found |= _of_volume(part)
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        found |= _of_variables(container)
    return {Reference(kind, Key(namespace, name)) for kind, name in found if name}


def _of_volume(volume: Mapping[str, Any]) -> set[tuple[str, str]]:
    config_map, secret = volume.get("configMap") or {}, volume.get("secret") or {}
    return {
        ("ConfigMap", config_map.get("name") or ""),
        ("Secret", secret.get("secretName") or secret.get("name") or ""),
    }


def _of_variables(container: Mapping[str, Any]) -> set[tuple[str, str]]:
    parts = list(container.get("envFrom") or ())
    parts += [variable.get("valueFrom") or {} for variable in container.get("env") or ()]
    return {
        (kind, (part.get(field) or {}).get("name") or "")
        for part in parts
        for kind, field in (
            ("ConfigMap", "configMapRef"),
            ("ConfigMap", "configMapKeyRef"),
            ("Secret", "secretRef"),
            ("Secret", "secretKeyRef"),
        )
    }
