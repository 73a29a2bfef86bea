# SPDX-License-Identifier: Apache-2.0
"""The register of GPUs of this machine and the containers that hold them.

All nodes of a cluster share one machine, so their agents share one register, `devices/register.json` in the data
directory, and no GPU is allocated twice. A grant stays in the register until its pod is released or the pod's directory
is removed, so agents may die at any moment: create the directory first, then allocate devices.

Fake GPUs, for experiments, get numbers after the real ones: a program that is given one finds no device.
"""

from __future__ import annotations

import fcntl
import logging
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from springtide.api import quantity
from springtide.local.access.files import write_private
from springtide.local.kubelet.devices import gpus, placing
from springtide.local.kubelet.devices.gpus import DriverError, Gpu
from springtide.local.kubelet.devices.placing import MEMORY, RESOURCES, SHARES, SHARES_PER_GPU, WHOLE, Held

logger = logging.getLogger(__name__)

_FAKE_MEMORY: Final = 16 * 1024
_NONE: Final = {"CUDA_VISIBLE_DEVICES": "", "NVIDIA_VISIBLE_DEVICES": "void"}


class _Grant(msgspec.Struct):
    node: str
    containers: dict[str, list[Held]]


class _Register(msgspec.Struct):
    claims: dict[str, int | None] = {}
    """By node: how many GPUs it claims to have; null for nodes without a claim."""
    grants: dict[str, _Grant] = {}
    """By the pod's uid."""


class Devices:
    """The devices of one node. `asked` is the capacity that the user gave the node."""

    def __init__(
        self,
        data_dir: Path,
        node: str,
        asked: Mapping[str, str],
        fake_gpus: int | None = None,
        real: list[Gpu] | None = None,
    ) -> None:
        self._data_dir, self._node, self._asked = data_dir, node, asked
        self._real = _found() if real is None else real
        self._fakes = self._made_up(fake_gpus) if fake_gpus is not None or not self._real else None
        self._path = data_dir / "devices" / "register.json"

    def capacity(self) -> dict[str, str]:
        """The node's GPU resources that `asked` does not override; changes as other nodes are added and removed."""
        if self._fakes is not None:
            count, memory = len(self._fakes), min((gpu.memory for gpu in self._fakes), default=0)
        else:
            count, memory = self._portion(), min(gpu.memory for gpu in self._real)
        if not count:
            return {}
        found = {WHOLE: count, SHARES: count * SHARES_PER_GPU, MEMORY: count * memory}
        return {name: str(amount) for name, amount in found.items() if amount and name not in self._asked}

    def allocate(self, pod_uid: str, container: str, wanted: Mapping[str, int]) -> dict[str, str]:
        """Environment variables that show the container its GPUs; repeated calls return the same GPUs. NoDeviceError
        when not enough are free."""
        wanted = {name: wanted[name] for name in RESOURCES if wanted.get(name)}
        if not wanted:
            return dict(_NONE) if self._real else {}
        with self._changing() as register:
            grant = register.grants.setdefault(pod_uid, _Grant(self._node, {}))
            if container not in grant.containers:
                held = [
                    part for other in register.grants.values() for parts in other.containers.values() for part in parts
                ]
                grant.containers[container] = placing.place(self._pool(), held, wanted)
            parts = grant.containers[container]
        by_uuid = {gpu.uuid: gpu for gpu in self._pool()}
        return _variables([by_uuid[part.uuid] for part in parts if part.uuid in by_uuid])

    def release(self, pod_uid: str) -> None:
        if pod_uid.encode() not in _read(self._path):  # true of nearly all pods
            return
        with self._changing() as register:
            register.grants.pop(pod_uid, None)

    def _pool(self) -> list[Gpu]:
        return self._real if self._fakes is None else self._fakes

    def _made_up(self, count: int | None) -> list[Gpu]:
        """As many fake GPUs as the node claims to have, or enough for the shares it claims to have."""
        shares, memory = (_whole(self._asked.get(name)) for name in (SHARES, MEMORY))
        wanted = max(_whole(self._asked.get(WHOLE)), math.ceil(shares / SHARES_PER_GPU))
        wanted = wanted if WHOLE in self._asked or SHARES in self._asked else count or 0
        each = memory // wanted if memory and wanted else _FAKE_MEMORY
        first = len(self._real)
        return [Gpu(first + n, f"GPU-fake-{self._node}-{n}", each, "Imaginary GPU") for n in range(wanted)]

    def _portion(self) -> int:
        with self._changing() as register:
            asked = self._asked.get(WHOLE)
            register.claims[self._node] = None if asked is None else _whole(asked)
            claims = dict(register.claims)
        claimed = claims[self._node]
        return placing.portion(len(self._real), claims, self._node) if claimed is None else claimed

    @contextmanager
    def _changing(self) -> Iterator[_Register]:
        """The register, locked for one agent at a time; written back when it was changed without an error."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._path.with_name("lock").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            before = _read(self._path)
            register = self._without_the_gone(before)
            yield register
            after = msgspec.json.encode(register)
            if after != before:
                write_private(self._path, after)

    def _without_the_gone(self, encoded: bytes) -> _Register:
        """The register without nodes and pods that were removed while no agent could release their grants."""
        register = msgspec.json.decode(encoded, type=_Register) if encoded else _Register()
        nodes, pods = self._data_dir / "nodes", self._data_dir / "pods"
        register.claims = {node: claim for node, claim in register.claims.items() if (nodes / node).exists()}
        register.grants = {uid: grant for uid, grant in register.grants.items() if (pods / uid).exists()}
        return register


def _found() -> list[Gpu]:
    try:
        return gpus.found()
    except DriverError as error:
        logger.warning("this machine's GPUs cannot be used: %s", error)
        return []


def _variables(given: list[Gpu]) -> dict[str, str]:
    return {
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": ",".join(str(gpu.index) for gpu in given),
        "NVIDIA_VISIBLE_DEVICES": ",".join(gpu.uuid for gpu in given),
    }


def _whole(amount: str | None) -> int:
    return quantity.parse(amount).value if amount else 0


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
