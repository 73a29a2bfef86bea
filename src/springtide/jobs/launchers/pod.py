# SPDX-License-Identifier: Apache-2.0
"""A launcher that is a pod: the engine counts its failures and creates the next one under the same name."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from springtide.api.kinds.status import ReplicaStatus
from springtide.jobs.actions import Action
from springtide.jobs.endings import causes
from springtide.jobs.endings.outcomes import Outcome, counts, failure, with_log
from springtide.jobs.launchers.form import LauncherForm
from springtide.jobs.objects import deletions
from springtide.jobs.observed import FAILED, SUCCEEDED, Observed, Pod
from springtide.jobs.policies import backoff_limit
from springtide.jobs.snapshot import Situation


class PodLauncher:
    in_batch_job = False

    def pod(self, observed: Observed, role: str, name: str) -> Pod | None:
        return next((pod for pod in observed.of(role) if pod.name == name), None)

    def exists(self, situation: Situation) -> bool:
        return situation.launcher is not None

    def completed(self, situation: Situation) -> datetime | None:
        """One that was stopped with its job has not succeeded, whatever its program says then."""
        pod = situation.launcher
        if pod is None or pod.phase != SUCCEEDED:
            return None
        return None if situation.job.run.suspend and pod.terminating else situation.now

    def failure(self, situation: Situation) -> Outcome | None:
        pod = self.failed(situation)
        if pod is None or not backoff_limit.is_used_up(situation, pod):
            return None
        kind = situation.job.kind
        reason = f"{kind}Evicted" if causes.evicted(pod) else pod.reason or f"{kind}Failed"
        why = causes.ending(pod) or pod.message
        message = f"{situation.title} has failed" + (f": launcher {why}" if why else "")
        return failure(situation, reason, with_log(situation, message, pod))

    def failed(self, situation: Situation) -> Pod | None:
        """One that was deleted did not fail, whatever its program says when it is told to go."""
        pod = situation.launcher
        if pod is None or pod.uid == situation.ledger.retired:
            return None
        return pod if (pod.phase == FAILED and not pod.terminating) or causes.lost(pod) else None

    def goes_on(self, situation: Situation) -> bool:
        return situation.launcher_lives

    def replaced(self, situation: Situation) -> tuple[Pod, ...]:
        """One that is to be tried again makes room for the next, which has the same name."""
        pod = situation.launcher
        return (pod,) if pod is not None and pod.uid == situation.ledger.retired else ()

    def removed(self, situation: Situation) -> tuple[Action, ...]:
        return deletions((situation.launcher,) if situation.launcher else ())

    def stopped(self, situation: Situation, others: tuple[Action, ...]) -> tuple[Action, ...]:
        return (*self.removed(situation), *others)

    def switched(self, situation: Situation) -> tuple[Action, ...]:
        return ()

    def relocated(self, pod: Pod) -> tuple[Pod, ...]:
        return (pod,)

    def relocation(self, situation: Situation) -> tuple[Action, ...]:
        return ()

    def counts(self, situation: Situation) -> ReplicaStatus:
        return counts((situation.launcher,) if situation.launcher else ())


POD: Final[LauncherForm] = PodLauncher()
