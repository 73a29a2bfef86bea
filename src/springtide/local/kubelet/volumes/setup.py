# SPDX-License-Identifier: Apache-2.0
"""All volumes of a pod: created before its first container starts, and brought up to date while it runs.

Their contents are gathered first, awaiting the API server if necessary; then one thread writes the files, because a
slow disk or a large fsGroup must not delay other pods. Repeating it changes only what differs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.resources import Key, Obj
from springtide.local.kubelet.node.facts import Facts
from springtide.local.kubelet.sources import Sources
from springtide.local.kubelet.specs import ssh_keys
from springtide.local.kubelet.tokens import TokenError, Tokens, Wanted
from springtide.local.kubelet.volumes import atomic, claims, empty_dirs, host_paths, ownership, payloads

FILES = ("configMap", "secret", "downwardAPI", "projected")
"""Volumes whose contents the agent writes and keeps up to date."""

_REFUSALS = (
    atomic.PathError,
    payloads.PayloadError,
    host_paths.HostPathError,
    claims.ClaimError,
    empty_dirs.MediumError,
    TokenError,
    errors.ApiError,
)


class VolumeError(Exception):
    """A volume that is not available now; the message is that of kubelet's event."""


@dataclass(frozen=True, slots=True)
class Volume:
    """A volume that is ready to be bound into containers."""

    path: Path
    read_only: bool = False
    in_memory: bool = False
    """It exists only for the pod's shim, which has created it."""


Make = Callable[[], Volume]


class Volumes:
    def __init__(self, client: Client, sources: Sources, tokens: Tokens, facts: Facts) -> None:
        self._client = client
        self._sources = sources
        self._tokens = tokens
        self._facts = facts

    async def set_up(self, pod: Obj, directory: Path) -> dict[str, Volume]:
        """Create every volume that a container uses."""
        return await self._made(pod, _used(pod), directory)

    async def refresh(self, pod: Obj, directory: Path) -> None:
        """Update the volumes that the agent writes, and leave the others alone."""
        await self._made(pod, [volume for volume in _used(pod) if _is_written(volume)], directory)

    async def _made(self, pod: Obj, wanted: list[Obj], directory: Path) -> dict[str, Volume]:
        makes = {volume["name"]: await self._planned(pod, volume, directory) for volume in wanted}
        return await asyncio.to_thread(_make_all, makes)

    async def _planned(self, pod: Obj, volume: Obj, directory: Path) -> Make:
        """Gather what a volume needs; returns the function that creates it."""
        name = volume["name"]
        place = directory / "volumes" / name
        try:
            if _is_written(volume):
                return self._files(volume, place, await self._contents(pod, volume))
            if "emptyDir" in volume:
                return self._empty_dir(pod, volume, place)
            if "hostPath" in volume:
                return lambda: Volume(host_paths.path_of(volume["hostPath"]))
            if "persistentVolumeClaim" in volume or "ephemeral" in volume:
                return self._claimed(pod, await claims.resolve(self._client, pod, volume))
        except claims.ClaimError as error:
            raise VolumeError(_unprocessed(name, error)) from None
        except _REFUSALS as error:
            raise VolumeError(_failed(name, error)) from None
        kind = next((key for key in volume if key != "name"), "unknown")
        raise VolumeError(_failed(name, f"no volume plugin matched: this node has no volumes of type {kind}"))

    async def _contents(self, pod: Obj, volume: Obj) -> payloads.Contents:
        namespace = pod["metadata"]["namespace"]
        tokens = {
            Wanted.by(pod, source): await self._tokens.get(Wanted.by(pod, source))
            for source in payloads.token_sources(volume)
        }

        def config_map(name: str) -> Mapping[str, str | bytes] | None:
            found = self._sources.config_map(Key(namespace, name))
            return None if found is None else found.contents()

        def secret(name: str) -> Mapping[str, str | bytes] | None:
            found = self._sources.secret(Key(namespace, name))
            return None if found is None else dict(found.data or {})

        return payloads.Contents(
            pod,
            config_map,
            secret,
            lambda source: tokens[Wanted.by(pod, source)],
            self._facts.allocatable,
            _common_user(pod, _containers(pod)) if self._facts.is_root else None,
            self._group(pod) is not None,
            lambda source, name: ssh_keys.is_login(source, self._sources.private_key(Key(namespace, name))),
            self._reader(pod, volume),
        )

    def _reader(self, pod: Obj, volume: Obj) -> int | None:
        if not self._facts.is_root:
            return self._facts.uid
        readers = [container for container in _containers(pod) if volume["name"] in _mounted(container)]
        return _common_user(pod, readers, 0)

    def _files(self, volume: Obj, place: Path, contents: payloads.Contents) -> Make:
        files = payloads.of_volume(volume, contents)
        group = self._group(contents.pod)

        def make() -> Volume:
            own = None if group is None else lambda tree: ownership.give_to_group(tree, group, read_only=True)
            atomic.write(place, files, datetime.now(UTC), own)
            return Volume(place, read_only=True)

        return make

    def _empty_dir(self, pod: Obj, volume: Obj, place: Path) -> Make:
        def make() -> Volume:
            if self._facts.isolated and (volume["emptyDir"] or {}).get("medium") == "Memory":
                return Volume(place, in_memory=True)
            path = empty_dirs.make(volume["emptyDir"] or {}, place)
            if (group := self._group(pod)) is not None:
                ownership.give_to_group(path, group, only_on_mismatch=True)
            return Volume(path)

        return make

    def _claimed(self, pod: Obj, claimed: claims.Claimed) -> Make:
        source, is_local = claims.directory_of(claimed.volume), "local" in claimed.volume["spec"]

        def make() -> Volume:
            path = host_paths.path_of(source)
            group = self._group(pod)
            if is_local and group is not None and not claimed.read_only:
                policy = (pod["spec"].get("securityContext") or {}).get("fsGroupChangePolicy")
                ownership.give_to_group(path, group, only_on_mismatch=policy == "OnRootMismatch")
            return Volume(path, claimed.read_only)

        return make

    def _group(self, pod: Mapping[str, Any]) -> int | None:
        group = (pod["spec"].get("securityContext") or {}).get("fsGroup")
        return int(group) if group is not None and self._facts.is_root else None


def _make_all(makes: Mapping[str, Make]) -> dict[str, Volume]:
    made = {}
    for name, make in makes.items():
        try:
            made[name] = make()
        except OSError as error:
            raise VolumeError(_failed(name, f"{error.filename}: {(error.strerror or '').lower()}")) from None
        except _REFUSALS as error:
            raise VolumeError(_failed(name, error)) from None
    return made


def _is_written(volume: Mapping[str, Any]) -> bool:
    return any(kind in volume for kind in FILES)


def _used(pod: Mapping[str, Any]) -> list[Obj]:
    """Volumes that a container mounts or reads variables from; others may be missing without harm."""
    containers = _containers(pod)
    names = {name for container in containers for name in _mounted(container)}
    sources = [variable.get("valueFrom") or {} for container in containers for variable in container.get("env") or ()]
    names |= {source["fileKeyRef"]["volumeName"] for source in sources if source.get("fileKeyRef")}
    return [volume for volume in pod["spec"].get("volumes") or () if volume["name"] in names]


def _containers(pod: Mapping[str, Any]) -> list[Obj]:
    return [*(pod["spec"].get("initContainers") or ()), *(pod["spec"].get("containers") or ())]


def _mounted(container: Mapping[str, Any]) -> set[str]:
    return {mount["name"] for mount in container.get("volumeMounts") or ()}


def _common_user(pod: Mapping[str, Any], containers: Iterable[Obj], unset: int | None = None) -> int | None:
    """The uid that all these containers run as, if there is one."""
    whole = (pod["spec"].get("securityContext") or {}).get("runAsUser")
    otherwise = unset if whole is None else whole
    users = {(container.get("securityContext") or {}).get("runAsUser", otherwise) for container in containers}
    return users.pop() if len(users) == 1 else None


def _failed(name: str, why: object) -> str:
    return f'MountVolume.SetUp failed for volume "{name}" : {why}'


def _unprocessed(name: str, why: object) -> str:
    volumes = f"unmounted volumes=[{name}], unattached volumes=[], failed to process volumes=[{name}]"
    return f"Unable to attach or mount volumes: {volumes}: {why}"
