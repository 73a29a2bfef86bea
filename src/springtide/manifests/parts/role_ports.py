# SPDX-License-Identifier: Apache-2.0
"""Ports of a TFJob's roles, which are not to meet others on the network of a host."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from springtide.manifests.kinds import tfjob
from springtide.manifests.submissions.submission import TfJob, TfRole

_RANGE: Final = range(20000, 30000)
_FINISHED: Final = ("Succeeded", "Failed")


def chosen(job: TfJob, used: Collection[int]) -> TfJob:
    """The job with a free port for each role that has replicas and no port; 0 stays, the operator's choice, where all
    are in use."""
    free = (port for port in _RANGE if port not in used)
    roles = tfjob.replica_counts(job)
    return replace(
        job,
        worker_role=_with_port(job.worker_role, free, needed=tfjob.WORKER in roles),
        chief_role=_with_port(job.chief_role, free, needed=tfjob.CHIEF in roles),
        ps_role=_with_port(job.ps_role, free, needed=tfjob.PS in roles),
    )


def used(pods: Iterable[Mapping[str, Any]], services: Iterable[Mapping[str, Any]]) -> set[int]:
    """The ports of hosts that running pods and services of a cluster use."""
    found = {port for pod in pods if _occupies(pod) for port in _of_pod(pod["spec"])}
    for service in services:
        found |= {port.get("nodePort", 0) for port in service["spec"].get("ports") or ()}
    return found - {0}


def _with_port(role: TfRole, free: Iterator[int], *, needed: bool) -> TfRole:
    return replace(role, port=next(free, 0)) if needed and not role.port else role


def _occupies(pod: Mapping[str, Any]) -> bool:
    return bool(pod["spec"].get("nodeName")) and pod.get("status", {}).get("phase") not in _FINISHED


def _of_pod(spec: Mapping[str, Any]) -> Iterator[int]:
    field = "containerPort" if spec.get("hostNetwork") else "hostPort"
    for container in spec["containers"]:
        for port in container.get("ports") or ():
            yield port.get(field, 0)
