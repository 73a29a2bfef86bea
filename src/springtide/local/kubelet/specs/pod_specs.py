# SPDX-License-Identifier: Apache-2.0
"""Reading a pod object: its containers by type, its grace period, its deadline. Pure functions of a plain mapping."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from springtide.kube.resources import Obj
from springtide.local.kubelet.status.moments import seconds_of

DEFAULT_GRACE = 30.0
TERMINAL = ("Succeeded", "Failed")


def uid_of(pod: Mapping[str, Any]) -> str:
    return str(pod["metadata"]["uid"])


def main_containers(pod: Mapping[str, Any]) -> list[Obj]:
    return list(pod["spec"].get("containers") or ())


def init_containers(pod: Mapping[str, Any]) -> list[Obj]:
    return list(pod["spec"].get("initContainers") or ())


def ephemeral_containers(pod: Mapping[str, Any]) -> list[Obj]:
    return list(pod["spec"].get("ephemeralContainers") or ())


def all_containers(pod: Mapping[str, Any]) -> list[Obj]:
    return [*init_containers(pod), *main_containers(pod), *ephemeral_containers(pod)]


def container_of(pod: Mapping[str, Any], name: str) -> Obj | None:
    return next((container for container in all_containers(pod) if container["name"] == name), None)


def is_sidecar(container: Mapping[str, Any]) -> bool:
    """Whether an init container is a sidecar, which keeps running."""
    return container.get("restartPolicy") == "Always"


def is_deleted(pod: Mapping[str, Any]) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp"))


def grace_of(pod: Mapping[str, Any]) -> float:
    """The grace period in seconds: the deletion's, or else the pod's own."""
    for asked in (
        pod["metadata"].get("deletionGracePeriodSeconds"),
        pod["spec"].get("terminationGracePeriodSeconds"),
    ):
        if asked is not None:
            return float(asked)
    return DEFAULT_GRACE


def deadline_of(pod: Mapping[str, Any], start: float | None) -> float | None:
    """When the pod exceeds its activeDeadlineSeconds, if it has any."""
    allowed = pod["spec"].get("activeDeadlineSeconds")
    return None if allowed is None or start is None else start + float(allowed)


def start_of(status: Mapping[str, Any]) -> float | None:
    text = status.get("startTime")
    return seconds_of(text) if text else None


def hook_of(container: Mapping[str, Any], moment: str) -> Obj | None:
    """The `postStart` or `preStop` handler."""
    handler: Obj | None = (container.get("lifecycle") or {}).get(moment)
    return handler or None


def stop_signal_of(container: Mapping[str, Any]) -> str:
    return str((container.get("lifecycle") or {}).get("stopSignal") or "SIGTERM")


def long_name(pod: Mapping[str, Any]) -> str:
    """The pod's name in kubelet's messages."""
    metadata = pod["metadata"]
    return f"{metadata['name']}_{metadata['namespace']}({metadata['uid']})"


def field_path(pod: Mapping[str, Any], name: str) -> str:
    """The path of a container in its pod, as events refer to it."""
    for field, containers in (
        ("containers", main_containers(pod)),
        ("initContainers", init_containers(pod)),
        ("ephemeralContainers", ephemeral_containers(pod)),
    ):
        if any(container["name"] == name for container in containers):
            return f"spec.{field}{{{name}}}"
    return ""
