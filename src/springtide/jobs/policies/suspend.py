# SPDX-License-Identifier: Apache-2.0
"""`suspend`: a suspended job has no pods."""

from __future__ import annotations

from springtide.api.kinds.run_policy import CleanPodPolicy
from springtide.jobs.actions import Action
from springtide.jobs.launchers import launching
from springtide.jobs.objects import deletions
from springtide.jobs.snapshot import Snapshot


def stopped(snapshot: Snapshot) -> tuple[Action, ...]:
    """The actions that stop a suspended job. Under clean-up policy Running, pods that have ended are kept. Workers are
    deleted last if the launcher writes a checkpoint before it ends."""
    keeps_ended = snapshot.job.run.clean_pod_policy is CleanPodPolicy.RUNNING
    idle = () if launching.may_save(snapshot) else snapshot.replicas
    pods = deletions(tuple(pod for pod in idle if not (keeps_ended and pod.ended)))
    return snapshot.form.stopped(snapshot, pods)


def is_quiet(snapshot: Snapshot) -> bool:
    """Whether the last pod is gone: from then on the job is reset."""
    return not snapshot.replicas and all(pod.ended for pod in snapshot.observed.of(snapshot.shape.launcher))
