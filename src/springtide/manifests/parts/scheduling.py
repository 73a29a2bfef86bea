# SPDX-License-Identifier: Apache-2.0
"""Where the pods of a job run: selectors, tolerations, priority, gangs, the scheduler, and the host's namespaces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from springtide.manifests.parts.charts import chart_of
from springtide.manifests.parts.objects import Obj, filled
from springtide.manifests.submissions.submission import Submission, Toleration

_GANG: Final = "pod-group.scheduling.sigs.k8s.io"
_OWN_INTERFACE: Final = "k8s.aliyun.com/eni"
_HOST_NETWORK: Final = {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}


def placement(submission: Submission, node_selector: Mapping[str, str], host_network: bool = False) -> Obj:
    """Fields of a pod's spec."""
    fields = filled(
        nodeSelector=dict(node_selector),
        tolerations=tolerations(submission),
        schedulerName=submission.scheduler,
        priorityClassName=submission.priority,
        hostPID=submission.host_pid,
        hostIPC=submission.host_ipc,
    )
    asked = submission.host_network and not has_own_interface(submission)
    return {**fields, **(_HOST_NETWORK if host_network or asked else {})}


def has_own_interface(submission: Submission) -> bool:
    """Pods with a network interface of their own do not use the host's."""
    return submission.annotations.get(_OWN_INTERFACE) == "true"


def tolerations(submission: Submission) -> list[Obj]:
    return [_toleration(each) for each in submission.tolerations]


def gang_labels(submission: Submission, members: int) -> dict[str, str]:
    """Labels of the pods that are scheduled together, which have to be exactly `members`; none without `--gang`."""
    if not submission.gang:
        return {}
    group = f"{chart_of(submission).type}-{submission.name}"
    return {f"{_GANG}/name": group, f"{_GANG}/min-available": str(members)}


def _toleration(toleration: Toleration) -> Obj:
    return filled(key=toleration.key, value=toleration.value, effect=toleration.effect, operator=toleration.operator)
