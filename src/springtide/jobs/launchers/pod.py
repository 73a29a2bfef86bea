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
from springtide.jobs.snapshot import Snapshot


class PodLauncher:
    in_batch_job = False

    def pod(self, observed: Observed, role: str, name: str) -> Pod | None:
        return next((pod for pod in observed.of(role) if pod.name == name), None)

    def exists(self, snapshot: Snapshot) -> bool:
        return snapshot.launcher is not None

    def completed(self, snapshot: Snapshot) -> datetime | None:
        """A launcher that was stopped with its job has not succeeded, whatever its exit code."""
        pod = snapshot.launcher
        if pod is None or pod.phase != SUCCEEDED:
            return None
        return None if snapshot.job.run.suspend and pod.terminating else snapshot.now

    def failure(self, snapshot: Snapshot) -> Outcome | None:
        pod = self.failed(snapshot)
        if pod is None or not backoff_limit.is_used_up(snapshot, pod):
            return None
        kind = snapshot.job.kind
        reason = f"{kind}Evicted" if causes.evicted(pod) else pod.reason or f"{kind}Failed"
        why = causes.ending(pod) or pod.message
        message = f"{snapshot.title} has failed" + (f": launcher {why}" if why else "")
        return failure(snapshot, reason, with_log(snapshot, message, pod))

    def failed(self, snapshot: Snapshot) -> Pod | None:
        """A deleted launcher did not fail, whatever its exit code after SIGTERM."""
        pod = snapshot.launcher
        if pod is None or pod.uid == snapshot.ledger.retired:
            return None
        return pod if (pod.phase == FAILED and not pod.terminating) or causes.lost(pod) else None

    def goes_on(self, snapshot: Snapshot) -> bool:
        return snapshot.launcher_lives

    def replaced(self, snapshot: Snapshot) -> tuple[Pod, ...]:
        """A launcher to be retried is deleted first, because its successor has the same name."""
        pod = snapshot.launcher
        return (pod,) if pod is not None and pod.uid == snapshot.ledger.retired else ()

    def removed(self, snapshot: Snapshot) -> tuple[Action, ...]:
        return deletions((snapshot.launcher,) if snapshot.launcher else ())

    def stopped(self, snapshot: Snapshot, others: tuple[Action, ...]) -> tuple[Action, ...]:
        return (*self.removed(snapshot), *others)

    def switched(self, snapshot: Snapshot) -> tuple[Action, ...]:
        return ()

    def relocated(self, pod: Pod) -> tuple[Pod, ...]:
        return (pod,)

    def relocation(self, snapshot: Snapshot) -> tuple[Action, ...]:
        return ()

    def counts(self, snapshot: Snapshot) -> ReplicaStatus:
        return counts((snapshot.launcher,) if snapshot.launcher else ())


POD: Final[LauncherForm] = PodLauncher()
