# SPDX-License-Identifier: Apache-2.0
"""`cleanPodPolicy`: which pods are deleted when the job has finished.

The outcome is written to the status before the clean-up: how a launcher ended cannot be read off a deleted pod.
"""

from __future__ import annotations

from springtide.api.kinds import conditions
from springtide.api.kinds.conditions import condition
from springtide.api.kinds.run_policy import CleanPodPolicy
from springtide.jobs.actions import Action
from springtide.jobs.endings.outcomes import BACKOFF_EXCEEDED, DEADLINE_EXCEEDED, MAX_WAIT_EXCEEDED
from springtide.jobs.objects import deletions
from springtide.jobs.snapshot import Snapshot


def cleaned(snapshot: Snapshot) -> tuple[Action, ...]:
    """Deletes all pods, the workers that have not ended, or none. The launcher and its batch Job are kept for
    inspection unless all pods are deleted; some kinds delete all workers and always keep the launcher. A job that was
    cut short is stopped under every policy. The launcher is deleted last, so that an interrupted clean-up is
    continued."""
    if not stops(snapshot):
        return ()
    everything, keeps = snapshot.job.run.clean_pod_policy is CleanPodPolicy.ALL, snapshot.shape.keeps_launcher
    pods = tuple(pod for pod in snapshot.replicas if everything or keeps or not pod.ended)
    launcher = (everything and not keeps) or snapshot.form.goes_on(snapshot)
    return (*deletions(pods), *(snapshot.form.removed(snapshot) if launcher else ()))


def stops(snapshot: Snapshot) -> bool:
    """Whether no pod of the finished job runs on. Then no Service is needed either."""
    return snapshot.job.run.clean_pod_policy is not CleanPodPolicy.NONE or _cut_short(snapshot)


def _cut_short(snapshot: Snapshot) -> bool:
    """The job's pods have not all ended by themselves: without a launcher, pods that are restarted in place would run
    on."""
    failed = condition(snapshot.job.status.conditions, conditions.FAILED)
    reasons = [DEADLINE_EXCEEDED, MAX_WAIT_EXCEEDED, *(() if snapshot.shape.launcher else (BACKOFF_EXCEEDED,))]
    stopped = failed is not None and failed.status == "True" and failed.reason in reasons
    return stopped or snapshot.form.goes_on(snapshot)


def frees_group(snapshot: Snapshot) -> bool:
    """Whether the PodGroup is deleted with the pods; under None it stays, with the resources it holds."""
    return snapshot.job.run.clean_pod_policy is not CleanPodPolicy.NONE
