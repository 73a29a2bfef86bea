# SPDX-License-Identifier: Apache-2.0
"""Where a job runs: the node of the pod that leads, and the GPUs that its pods take up.

Lists of jobs show both, and need not read any pods. The node is reported only once that pod runs, and GPUs are counted
only in jobs that ask for them: neither causes a write of the status by itself.
"""

from __future__ import annotations

from typing import Final

from springtide.api import gpus
from springtide.api.kinds.conditions import finished
from springtide.api.kinds.status import JobStatus, Placement
from springtide.jobs.observed import PENDING, Pod
from springtide.jobs.snapshot import Snapshot

_NOWHERE: Final = Placement()
_MOST: Final = 2**31 - 1
"""The field has 32 bits, and a template may ask for any number."""


def of(snapshot: Snapshot, status: JobStatus) -> Placement | None:
    """None for a job without pods on nodes. A job that has finished keeps the node of its leading pod."""
    ended, old = finished(status.conditions), snapshot.job.status.placement or _NOWHERE
    pod = _leading(snapshot)
    if pod is not None and pod.phase != PENDING and (ended or pod.alive):
        found = Placement(node=pod.node, host_ip=pod.host_ip, gpus=_gpus(snapshot))
    elif ended:
        found = Placement(node=old.node, host_ip=old.host_ip, gpus=_gpus(snapshot))
    else:
        found = Placement(gpus=_gpus(snapshot))
    return found if found != _NOWHERE else None


def _leading(snapshot: Snapshot) -> Pod | None:
    if snapshot.shape.launcher:
        return snapshot.launcher
    role = snapshot.shape.success.role if snapshot.shape.success is not None else snapshot.shape.workers
    return next((pod for pod in snapshot.observed.pods if pod.role == role and pod.index == 0), None)


def _gpus(snapshot: Snapshot) -> int:
    each = {name: gpus.of_job(role.template.get("spec") or {}) for name, role in snapshot.job.roles.items()}
    if not any(each.values()):
        return 0
    taken = sum(each.get(pod.role, 0) for pod in snapshot.observed.pods if pod.node and pod.alive)
    return min(taken, _MOST)
