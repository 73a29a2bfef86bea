# SPDX-License-Identifier: Apache-2.0
"""A container's mounts: its environment, its own /etc, its volumes. Outermost first, one mount per path.

Containers have their own /root, /tmp, /run and /dev/shm. Files below the host's that an environment needs are bound
back, read-only: a pod never changes the environment that others run in.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from springtide.local.environments.environment import Environment
from springtide.local.kubelet.specs import expansion
from springtide.local.kubelet.volumes import subpaths
from springtide.local.kubelet.volumes.setup import Volume
from springtide.local.runtime.contract import Mount

PRIVATE = ("/root", "/tmp", "/run", "/dev/shm")
"""Directories of which every container has its own."""
BIN, EXEC = "/run/springtide/bin", "/run/springtide/exec"
KUBECTL = "/opt/kube"
"""Where launchers expect the kubectl that their operator would have delivered."""
_LONGEST_PATH: Final = 4096
ETC = ("hosts", "resolv.conf", "hostname", "passwd", "group")


class MountError(ValueError):
    """A mount that cannot be made; the message is kubelet's."""


def of_environment(environment: Environment, hidden: Sequence[str] = ()) -> list[Mount]:
    """The environment itself, and everything else that its Python reads from a directory that is private in a
    container."""
    system = ("/", "/usr", "/usr/local")  # root sees a copy of these, and other users cannot write to them
    own = [] if environment.prefix in system else [Mount(environment.prefix, environment.prefix, read_only=True)]
    return [*of_paths(environment.paths, hidden), *own] + [
        Mount(os.path.normpath(files.target), files.source) for files in environment.files if not files.copied
    ]


def of_paths(paths: Iterable[str], hidden: Sequence[str] = ()) -> list[Mount]:
    """The paths that lie in a directory that is private in a container, or hidden from it."""
    return [Mount(path, path, read_only=True) for path in paths if _under(path, (*PRIVATE, *hidden))]


def _under(path: str, roots: Iterable[str]) -> bool:
    return any(path.startswith(f"{root}/") for root in roots)


def of_etc(directory: Path) -> list[Mount]:
    return [Mount(f"/etc/{name}", str(directory / "etc" / name)) for name in ETC]


def of_volumes(
    container: Mapping[str, Any], volumes: Mapping[str, Volume], variables: Mapping[str, str]
) -> list[Mount]:
    """A container's volumeMounts. Missing parts of volumes are created."""
    for device in container.get("volumeDevices") or ():
        raise MountError(f'cannot find volume "{device["name"]}" to pass into container "{container["name"]}"')
    known = {name: value for name, value in variables.items() if value}
    found = []
    for mount in container.get("volumeMounts") or ():
        volume = volumes.get(mount["name"])
        if volume is None:
            raise MountError(f'cannot find volume "{mount["name"]}" to mount into container "{container["name"]}"')
        source, part = volume.path, _subpath(mount, known)
        if part:
            source, part = _part(volume, part, mount["name"], container["name"])
        target = os.path.normpath(os.path.join("/", mount["mountPath"]))
        found.append(Mount(target, str(source), volume.read_only or bool(mount.get("readOnly")), part))
    return found


def _subpath(mount: Mapping[str, Any], known: Mapping[str, str]) -> str:
    expression = mount.get("subPathExpr")
    if not expression:
        return mount.get("subPath") or ""
    if missing := sorted(set(expansion.unknown_references(expression, known))):
        raise MountError(f"missing value for {', '.join(missing)}")
    try:
        return expansion.expand(expression, known, room=_LONGEST_PATH)
    except expansion.TooLongError as error:
        raise MountError(f'subPathExpr of volumeMount "{mount["name"]}" is too long: {error}') from None


def _part(volume: Volume, part: str, name: str, container: str) -> tuple[Path, str]:
    """The path of the part, or the volume and the part for the shim to resolve."""
    try:
        if volume.in_memory:
            subpaths.check(part)
            return volume.path, part
        return subpaths.inside(volume.path, part), ""
    except subpaths.EscapeError:
        raise MountError(f'failed to prepare subPath for volumeMount "{name}" of container "{container}"') from None
    except OSError:
        raise MountError(
            f'failed to create subPath directory for volumeMount "{name}" of container "{container}"'
        ) from None
    except subpaths.SubpathError as error:
        raise MountError(str(error)) from None


def together(needed: Iterable[Mount], stand_ins: Iterable[Mount], chosen: Sequence[Mount]) -> tuple[Mount, ...]:
    """Required and chosen mounts, and the stand-ins for parts of an image, except those inside a chosen directory."""
    kept = [mount for mount in stand_ins if not any(_covers(other.target, mount.target) for other in chosen)]
    return ordered((*needed, *kept, *chosen))


def _covers(directory: str, path: str) -> bool:
    return path == directory or path.startswith(f"{directory}/")


def ordered(mounts: Iterable[Mount]) -> tuple[Mount, ...]:
    """The last of several mounts at one path, and outer mounts before inner ones."""
    by_target = {mount.target: mount for mount in mounts}
    return tuple(sorted(by_target.values(), key=lambda mount: mount.target.count("/")))
