# SPDX-License-Identifier: Apache-2.0
"""What the acting parts of the agent depend on, and the interfaces of the packages they use."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from springtide.kube.client import Client
from springtide.kube.events import EventRecorder
from springtide.kube.resources import Obj
from springtide.local.environments.environment import Environment
from springtide.local.kubelet.containers.bodies import Prepared
from springtide.local.kubelet.node.addresses import Addresses
from springtide.local.kubelet.node.facts import Facts
from springtide.local.kubelet.pods.local_pods import LocalPod, Pods
from springtide.local.kubelet.specs import pod_specs
from springtide.local.runtime.contract import ContainerBody, ContainerState, PodBody
from springtide.local.runtime.shim_client import Shim


class Bodies(Protocol):
    """Builds the bodies of shims and containers; implemented by `bodies.Maker`."""

    def sandbox(self, pod: Obj, directory: Path) -> PodBody: ...

    async def prepare(self, pod: Obj, directory: Path, body: PodBody | None = None) -> Prepared: ...

    def container(self, pod: Obj, name: str, attempt: int, prepared: Prepared) -> ContainerBody: ...

    def environment(self, image: str) -> Environment: ...

    def stands_in(self, image: str) -> bool: ...

    async def refresh(self, pod: Obj, directory: Path, *, fresh: bool = False) -> None: ...

    async def remove(self, pod: Obj) -> None: ...


class Runtime(Protocol):
    """Starts and finds shims; implemented by `runtime.fork_client.ForkClient`."""

    async def spawn(self, directory: Path) -> Shim: ...

    async def adopt(self, directory: Path) -> Shim | None: ...

    def left(self, directory: Path) -> list[ContainerState]: ...

    def lost(self, directory: Path) -> list[ContainerState]: ...

    def rebooted(self, directory: Path) -> bool: ...

    def discard(self, directory: Path) -> None: ...


class Devices(Protocol):
    """Allocates GPUs; implemented by `devices.Devices`."""

    def release(self, pod_uid: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Dependencies:
    client: Client
    facts: Facts
    pods: Pods
    addresses: Addresses
    bodies: Bodies
    runtime: Runtime
    devices: Devices
    recorder: EventRecorder
    wake: Callable[[str, float], None]
    """Enqueue a pod, by uid, after so many seconds."""
    clock: Callable[[], float] = time.time

    def announce(self, pod: LocalPod, container: str, reason: str, message: str, *, kind: str = "Warning") -> None:
        """Record an event about a pod, or about one of its containers."""
        metadata: Mapping[str, Any] = pod.obj["metadata"]
        about = {"apiVersion": "v1", "kind": "Pod"}
        about |= {part: metadata[part] for part in ("namespace", "name", "uid", "resourceVersion") if part in metadata}
        if container:
            about["fieldPath"] = pod_specs.field_path(pod.obj, container)
        self.recorder.record(about, kind, reason, message)
