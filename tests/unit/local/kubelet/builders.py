# SPDX-License-Identifier: Apache-2.0
"""Pods and container states for tests of the node agent."""

from __future__ import annotations

from typing import Any

from springtide.kube.resources import Obj
from springtide.local.runtime.contract import ContainerState

NOW = 1_000_000.0
UID = "11111111-2222-3333-4444-555555555555"


def a_container(name: str = "main", **fields: Any) -> Obj:
    return {"name": name, "image": "busybox", **fields}


def a_sidecar(name: str = "side", **fields: Any) -> Obj:
    return a_container(name, restartPolicy="Always", **fields)


def a_pod(*containers: Obj, init: tuple[Obj, ...] = (), metadata: Obj | None = None, **spec: Any) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default", "uid": UID, "generation": 1, **(metadata or {})},
        "spec": {
            "containers": list(containers) or [a_container()],
            "restartPolicy": "Always",
            **({"initContainers": list(init)} if init else {}),
            **spec,
        },
        "status": {"phase": "Pending", "qosClass": "BestEffort"},
    }


def deleted(grace: int = 30) -> Obj:
    """Metadata of a pod that somebody deleted."""
    return {"deletionTimestamp": "2026-11-16T04:30:00Z", "deletionGracePeriodSeconds": grace}


def runs(name: str = "main", attempt: int = 0, started: float = NOW - 60) -> ContainerState:
    return ContainerState(name, attempt, "running", pid=100, started=started)


def ended(
    name: str = "main", code: int = 0, attempt: int = 0, finished: float = NOW, message: str = ""
) -> ContainerState:
    reason = "Completed" if code == 0 else "Error"
    return ContainerState(
        name, attempt, "exited", started=finished - 5, finished=finished, exit_code=code, reason=reason, message=message
    )


def states(*given: ContainerState) -> dict[str, ContainerState]:
    return {state.name: state for state in given}
