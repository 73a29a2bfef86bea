# SPDX-License-Identifier: Apache-2.0
"""`suspend`: a suspended job has no pods."""

from __future__ import annotations

from springtide.api.kinds.run_policy import CleanPodPolicy
from springtide.jobs.actions import Action
from springtide.jobs.launchers import launching
from springtide.jobs.objects import deletions
from springtide.jobs.observed import Pod
from springtide.jobs.policies import force_delete
from springtide.jobs.snapshot import Snapshot


def stopped(snapshot: Snapshot) -> tuple[Action, ...]:
    """The actions that stop a suspended job. Under clean-up policy Running, pods that have ended are kept, unless the
    next run needs their names, or the kind's policy deletes them, too. Workers are deleted last if the launcher writes
    a checkpoint before it ends."""
    idle = () if launching.may_save(snapshot) else snapshot.replicas
    return snapshot.form.stopped(snapshot, deletions(pod for pod in idle if not _stays(snapshot, pod)))


def _stays(snapshot: Snapshot, pod: Pod) -> bool:
    ends_all = bool(snapshot.shape.fixed) or snapshot.shape.keeps_launcher
    keeps_ended = snapshot.job.run.clean_pod_policy is CleanPodPolicy.RUNNING and not ends_all
    return (keeps_ended and pod.ended) or force_delete.survives_suspension(snapshot, pod)


def is_quiet(snapshot: Snapshot) -> bool:
    """Whether the last pod is gone: from then on the job is reset."""
    return not snapshot.replicas and all(pod.ended for pod in snapshot.observed.of(snapshot.shape.launcher))
