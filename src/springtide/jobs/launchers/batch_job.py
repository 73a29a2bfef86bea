# SPDX-License-Identifier: Apache-2.0
"""A launcher that is a batch Job, which retries its pods and enforces the back-off limit and the deadline."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from springtide.api.kinds.status import ReplicaStatus
from springtide.jobs import objects
from springtide.jobs.actions import Action, Delete, Patch
from springtide.jobs.endings import causes
from springtide.jobs.endings.outcomes import BACKOFF_EXCEEDED, Outcome, failure, with_log
from springtide.jobs.launchers import launching
from springtide.jobs.launchers.form import LauncherForm
from springtide.jobs.objects import deletions
from springtide.jobs.observed import PLACING, RUNNING, Key, LauncherJob, Observed, Pod
from springtide.jobs.policies.backoff_limit import CAP
from springtide.jobs.snapshot import Snapshot


class BatchJobLauncher:
    in_batch_job = True

    def pod(self, observed: Observed, role: str, name: str) -> Pod | None:
        return next((pod for pod in observed.of(role) if pod.alive), None)

    def exists(self, snapshot: Snapshot) -> bool:
        return snapshot.observed.launcher_job is not None

    def completed(self, snapshot: Snapshot) -> datetime | None:
        batch = snapshot.observed.launcher_job
        return (batch.completed or snapshot.now) if batch is not None and batch.succeeded else None

    def failure(self, snapshot: Snapshot) -> Outcome | None:
        return _failed(snapshot) or _disrupted(snapshot)

    def failed(self, snapshot: Snapshot) -> Pod | None:
        return None

    def goes_on(self, snapshot: Snapshot) -> bool:
        """A finished Job ends its pod itself, and is observed as finished before the pod ends."""
        batch = snapshot.observed.launcher_job
        return batch is not None and not (batch.succeeded or batch.failed)

    def replaced(self, snapshot: Snapshot) -> tuple[Pod, ...]:
        """A batch Job creates no other pod while the state of a pod on an unresponsive node is unknown."""
        return tuple(pod for pod in snapshot.observed.of(snapshot.shape.launcher) if causes.lost(pod))

    def removed(self, snapshot: Snapshot) -> tuple[Action, ...]:
        batch = snapshot.observed.launcher_job
        return () if batch is None or batch.terminating else (Delete(_key(snapshot), batch.uid),)

    def stopped(self, snapshot: Snapshot, others: tuple[Action, ...]) -> tuple[Action, ...]:
        return (*self.switched(snapshot), *others, *deletions(self.replaced(snapshot)))

    def switched(self, snapshot: Snapshot) -> tuple[Action, ...]:
        """The Job is suspended with the MPIJob, and resumed when a launcher may be created."""
        batch, builder, suspend = snapshot.observed.launcher_job, snapshot.kind.launching, snapshot.job.run.suspend
        if batch is None or builder is None or batch.suspended == suspend:
            return ()
        if not suspend and (_is_being_relocated(snapshot) or not launching.may_be_created(snapshot)):
            return ()
        template = {} if suspend else placed(batch, builder.manifest(snapshot.job, snapshot.observed.settings))
        return (Patch(_key(snapshot), {"spec": {"suspend": suspend, **template}}, uid=batch.uid),)

    def relocated(self, pod: Pod) -> tuple[Pod, ...]:
        return ()

    def relocation(self, snapshot: Snapshot) -> tuple[Action, ...]:
        """The Job is suspended for a moment: a pod deleted by another client counts as a failure of the Job."""
        batch = snapshot.observed.launcher_job
        return () if batch is None or batch.suspended else (Patch(_key(snapshot), {"spec": {"suspend": True}}),)

    def counts(self, snapshot: Snapshot) -> ReplicaStatus:
        batch = snapshot.observed.launcher_job
        if batch is None:
            return ReplicaStatus()
        running = sum(pod.phase == RUNNING for pod in snapshot.observed.of(snapshot.shape.launcher))
        return ReplicaStatus(active=running, succeeded=int(batch.succeeded), failed=batch.failures)


def _failed(snapshot: Snapshot) -> Outcome | None:
    batch = snapshot.observed.launcher_job
    if batch is None or not batch.failed:
        return None
    last = launching.last_ended(snapshot)
    reason = batch.reason or f"{snapshot.job.kind}Failed"
    message = batch.message or f"{snapshot.title} has failed"
    if last is not None:
        reason = f"{reason}/{last.reason}" if reason == BACKOFF_EXCEEDED else reason
        said = last.message or causes.ending(last)
        message = with_log(snapshot, f"{message}: {said}" if said else message, last)
    return failure(snapshot, reason, message)


def _disrupted(snapshot: Snapshot) -> Outcome | None:
    """A batch Job creates disrupted launchers again without counting them, so they are counted here."""
    pods = [pod for pod in snapshot.observed.of(snapshot.shape.launcher) if pod.ended and causes.disrupted(pod)]
    taken = [pod for pod in pods if not causes.shut_down(pod)]
    if len(taken) <= CAP:
        return None
    last, kind = taken[-1], snapshot.job.kind
    message = f"{snapshot.title} has failed: launcher {last.name} {causes.worker(last)}, like its {CAP} predecessors"
    return failure(snapshot, f"{kind}{'Evicted' if causes.evicted(last) else 'Failed'}", message)


def _is_being_relocated(snapshot: Snapshot) -> bool:
    relocated, pods = snapshot.ledger.relocated, snapshot.observed.of(snapshot.shape.launcher)
    return any(pod.uid == relocated and not pod.ended for pod in pods)


def placed(batch: LauncherJob, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The part of the Job's template that controls placement, if it differs: a queue that admits a job writes the
    placement into the MPIJob's template. Labels and annotations of other clients stay. The template of a Job that has
    started before cannot be changed and is left as it is."""
    if batch.started is not None:
        return {}
    template: dict[str, dict[str, Any]] = {}
    for part, names in PLACING.items():
        for name in names:
            there, new = (batch.template.get(part) or {}).get(name), wanted["spec"]["template"][part].get(name)
            new = objects.merging(there, new) if part == "spec" else new
            if not objects.covers(there, new):
                template.setdefault(part, {})[name] = new
    return {"template": template} if template else {}


def _key(snapshot: Snapshot) -> Key:
    return Key("batch/v1", "Job", snapshot.shape.launcher_name)


BATCH_JOB: Final[LauncherForm] = BatchJobLauncher()
