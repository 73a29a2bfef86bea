# SPDX-License-Identifier: Apache-2.0
"""Mirror pods as the agent's HTTPS paths see them: a log and resource usage, but nothing to run a command in."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from socket import socket
from typing import Any, Final, NoReturn

from springtide.api.mirror_pods import is_mirror
from springtide.kube.informer import Informer
from springtide.kube.resources import Key, Obj
from springtide.local.datadir import DataDir
from springtide.local.kubelet.mirror_pods import plain_logs, records
from springtide.local.kubelet.mirror_pods.records import CONTAINER
from springtide.local.kubelet.serving.hosting import Command, HostedPod, Hosting, Running
from springtide.local.kubelet.specs import pod_specs
from springtide.local.pod_logs.reading import Options
from springtide.local.runtime.contract import ContainerState
from springtide.local.runtime.shim import memory
from springtide.local.runtime.shim_client import ShimError

_PROC: Final = "/proc"


class MirrorPod:
    def __init__(self, obj: Obj, directory: DataDir) -> None:
        self._obj, self._directory = obj, directory
        self._record = records.read(directory)

    is_mirror = True
    address = ""

    @property
    def obj(self) -> Obj:
        return self._obj

    @property
    def status(self) -> Mapping[str, Any]:
        status: Mapping[str, Any] = self._obj.get("status") or {}
        return status

    @property
    def states(self) -> Mapping[str, ContainerState]:
        return {} if self._record is None else {CONTAINER: self._record.state}

    @property
    def shim(self) -> ProcessShim | None:
        return ProcessShim(self._record.state.pid) if self._record is not None and self._record.runs else None

    def log_text(
        self, container: str, attempt: int, options: Options, running: Callable[[], bool]
    ) -> AsyncGenerator[bytes, None]:
        def part() -> records.LogPart | None:
            record = records.read(self._directory)
            return None if record is None else record.part_of(attempt)

        found, state = part(), self._record.state_of(attempt) if self._record is not None else None
        path = None if found is None else records.log_file(self._directory, found)
        return plain_logs.text(path, part, options, running, state.started if state is not None else 0.0)


class ProcessShim:
    """The part of a shim that a process of its own can have: its resource usage."""

    def __init__(self, pid: int) -> None:
        self._pid = pid

    async def usage(self) -> Mapping[str, Mapping[str, float]]:
        pids = (self._pid,)
        return {CONTAINER: {"cpu": memory.processor_time(_PROC, pids), "memory": memory.resident(_PROC, pids)}}

    async def exec(self, container: str, argv: Sequence[str], fds: Sequence[int], *, tty: bool = False) -> Command:
        _refuse()

    async def attach(self, container: str, *, stdin: int | None, stdout: int | None, stderr: int | None) -> Running:
        _refuse()

    async def resize(self, container: str, width: int, height: int) -> None:
        _refuse()

    async def socket(self, kind: str) -> socket:
        _refuse()

    async def allow(self, ticket: str, container: str, argv: Sequence[str], tty: bool) -> None:
        _refuse()


def _refuse() -> NoReturn:
    raise ShimError("MirrorPod", "a mirror pod has no container to run a command in")


class AllPods:
    """The pods of a node and its mirror pods."""

    def __init__(self, pods: Hosting, informer: Informer[Obj], directory: DataDir) -> None:
        self._pods, self._informer, self._directory = pods, informer, directory

    def find(self, namespace: str, name: str, uid: str = "") -> HostedPod | None:
        obj = self._informer.get(Key(namespace, name))
        if obj is not None and is_mirror(obj) and uid in ("", pod_specs.uid_of(obj)):
            return MirrorPod(obj, self._directory)
        return self._pods.find(namespace, name, uid)

    def all(self) -> Sequence[HostedPod]:
        mirrors = (obj for obj in self._informer.objects() if is_mirror(obj))
        return [*self._pods.all(), *(MirrorPod(obj, self._directory) for obj in mirrors)]
