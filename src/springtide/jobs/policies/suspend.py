# SPDX-License-Identifier: Apache-2.0
"""`suspend`: a suspended job has no pods."""

from __future__ import annotations

from springtide.api.kinds.run_policy import CleanPodPolicy
from springtide.jobs.actions import Action
from springtide.jobs.launchers import launching
from springtide.jobs.objects import deletions
from springtide.jobs.snapshot import Situation


def stopped(situation: Situation) -> tuple[Action, ...]:
    """Of clean-up policy Running those pods that have ended are kept. Workers go last where a launcher writes a
    checkpoint before it ends."""
    keeps_ended = situation.job.run.clean_pod_policy is CleanPodPolicy.RUNNING
    idle = () if launching.may_save(situation) else situation.replicas
    pods = deletions(tuple(pod for pod in idle if not (keeps_ended and pod.ended)))
    return situation.form.stopped(situation, pods)


def is_quiet(situation: Situation) -> bool:
    """Whether the last pod is gone: from then on the job is as good as new."""
    return not situation.replicas and all(pod.ended for pod in situation.observed.of(situation.shape.launcher))
