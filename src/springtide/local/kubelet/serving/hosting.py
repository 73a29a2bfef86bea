# SPDX-License-Identifier: Apache-2.0
"""The interfaces of pods and their shims that serving depends on."""

from __future__ import annotations

import socket
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any, Protocol

from springtide.local.pod_logs.reading import Options
from springtide.local.runtime.contract import ContainerState


class Running(Protocol):
    """A process that a shim runs for a client, or to which a client is attached."""

    async def wait(self) -> int | None:
        """The exit code."""
        ...

    def close(self) -> None:
        """Stop waiting; the process keeps running."""
        ...


class Command(Running, Protocol):
    @property
    def terminal(self) -> int | None:
        """The master of the terminal that was created instead of the given one."""
        ...


class PodShim(Protocol):
    async def exec(self, container: str, argv: Sequence[str], fds: Sequence[int], *, tty: bool = False) -> Command: ...

    async def attach(self, container: str, *, stdin: int | None, stdout: int | None, stderr: int | None) -> Running: ...

    async def resize(self, container: str, width: int, height: int) -> None: ...

    async def socket(self, kind: str) -> socket.socket: ...

    async def allow(self, ticket: str, container: str, argv: Sequence[str], tty: bool) -> None: ...

    async def usage(self) -> Mapping[str, Mapping[str, float]]: ...


class HostedPod(Protocol):
    @property
    def obj(self) -> dict[str, Any]: ...

    @property
    def status(self) -> Mapping[str, Any]:
        """As last reported to the API."""
        ...

    def log_text(
        self, container: str, attempt: int, options: Options, running: Callable[[], bool]
    ) -> AsyncGenerator[bytes, None]:
        """The log of an attempt in chunks; when followed, until `running` is false and everything was read."""
        ...

    @property
    def is_mirror(self) -> bool:
        """Whether it represents a process outside of pods: commands cannot be run in it, and the node does not
        account for its resources."""
        ...

    @property
    def address(self) -> str: ...

    @property
    def shim(self) -> PodShim | None: ...

    @property
    def states(self) -> Mapping[str, ContainerState]:
        """The newest attempt of each container."""
        ...


class Hosting(Protocol):
    def find(self, namespace: str, name: str, uid: str = "") -> HostedPod | None: ...

    def all(self) -> Sequence[HostedPod]: ...


def is_running(pod: HostedPod, container: str) -> bool:
    state = pod.states.get(container)
    return pod.shim is not None and state is not None and state.status == "running"
