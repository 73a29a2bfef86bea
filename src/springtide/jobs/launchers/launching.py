# SPDX-License-Identifier: Apache-2.0
"""When a launcher is created or created again, when hosts are listed for it, and how it learns of list changes.

`policies.backoff_limit` has the delay after a failure. Which workers may be listed is in `stages`.

Ranks outlive the launcher that started them. So a launcher's workers are deleted with it: hosts are listed for one
launcher pod, by its uid, and a successor is created and gets hosts only when all workers of its predecessor are gone.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from springtide.jobs.actions import Action, Create, Patch
from springtide.jobs.endings import causes
from springtide.jobs.ledger import Ledger
from springtide.jobs.observed import RUNNING, SUCCEEDED, Key, Pod
from springtide.jobs.policies import backoff_limit
from springtide.jobs.replicas import stages
from springtide.jobs.replicas.stages import Step
from springtide.jobs.reporting import progress
from springtide.jobs.scaling import newcomers
from springtide.jobs.snapshot import Snapshot
from springtide.jobs.times import LONG_AGO, NEVER, after

SETTLE_SECONDS: Final = 30
START_SECONDS: Final = 60
NUDGE: Final = "springtide.dev/host-list"
NUDGED_AT: Final = "springtide.dev/host-list-at"
NUDGED_AGAIN: Final = "springtide.dev/host-list-again"
NUDGE_REPEAT: Final = timedelta(seconds=2)


def run_over(snapshot: Snapshot) -> bool:
    """Whether the launcher that got the host list has ended. After a success there is no other run: the batch Job
    reports it with a delay. A terminating launcher needs its workers until it has written its checkpoint."""
    pod = served(snapshot)
    if not snapshot.ledger.serves or pod is None:
        return bool(snapshot.ledger.serves)
    return not (pod.alive or pod.phase == SUCCEEDED or _saves(snapshot, pod))


def served(snapshot: Snapshot) -> Pod | None:
    """The launcher pod that got the host list, alive or not."""
    pods = snapshot.observed.of(snapshot.shape.launcher)
    return next((pod for pod in pods if pod.uid == snapshot.ledger.serves), None)


def may_save(snapshot: Snapshot) -> bool:
    """Whether a launcher that runs may write a checkpoint with its workers when it is terminated."""
    return any(_saves(snapshot, pod) for pod in snapshot.observed.of(snapshot.shape.launcher))


def _saves(snapshot: Snapshot, pod: Pod) -> bool:
    return snapshot.shape.saves and pod.phase == RUNNING and not causes.lost(pod)


def fresh_run(ledger: Ledger) -> Ledger:
    """The ledger without the members of the old run."""
    return replace(
        ledger,
        members=(),
        listed=(),
        used=(),
        started_with=(),
        draining={},
        serves="",
        relocated="",
        failures={},
        owed=(),
        joining=(),
        joining_for="",
        dead=(),
    )


def last_ended(snapshot: Snapshot) -> Pod | None:
    ended = [pod for pod in snapshot.observed.of(snapshot.shape.launcher) if pod.ended]
    return max(ended, key=lambda pod: pod.created or LONG_AGO, default=None)


def ending(snapshot: Snapshot) -> tuple[str, str]:
    """How the launcher that ended last ended, and what the user can do about it."""
    last = last_ended(snapshot)
    if last is not None and causes.shut_down(last):
        return causes.worker(last), ""
    if last is None or last.exit is None:
        return "", ""
    return causes.ending(last), snapshot.kind.advice(snapshot.job, last.exit)


def counted(snapshot: Snapshot, pod: Pod) -> Ledger:
    """The ledger with the failure of a launcher that is retried."""
    return replace(backoff_limit.counted(snapshot, snapshot.ledger, pod), retired=pod.uid)


def created(snapshot: Snapshot) -> tuple[Action, ...]:
    builder, job = snapshot.kind.launching, snapshot.job
    if builder is None or snapshot.form.exists(snapshot) or not may_be_created(snapshot):
        return ()
    return (Create(builder.manifest(job, snapshot.observed.settings)), *snapshot.kind.warnings(job))


def may_be_created(snapshot: Snapshot) -> bool:
    """A batch Job is created in a suspended job too, and is suspended itself."""
    if snapshot.job.run.suspend:
        return snapshot.form.in_batch_job
    if predecessors(snapshot) or backoff_limit.restart_left(snapshot) > timedelta(0):
        return False
    return not snapshot.shape.waits_for_workers or _enough(snapshot)


def _enough(snapshot: Snapshot) -> bool:
    """Whether the workers that are ready suffice for a launcher that waits for them."""
    at = _early_start(snapshot)
    return len(ready(snapshot)) >= snapshot.wanted_size or (at is not None and at <= snapshot.now)


def _early_start(snapshot: Snapshot) -> datetime | None:
    """When a launcher is created that waits for workers, though not all are ready: a while after the last worker that
    it needs has started. None while too few are ready, and for a launcher that waits for all."""
    found, needed = ready(snapshot), snapshot.needed_size
    if not snapshot.shape.starts_early or snapshot.ledger.serves or not needed <= len(found) < snapshot.wanted_size:
        return None
    started = sorted(_started(snapshot, index) for index in found)
    return after(started[needed - 1], snapshot.seconds("start-seconds", START_SECONDS))


def _started(snapshot: Snapshot, index: int) -> datetime:
    pod = snapshot.workers[index]
    return pod.started or pod.created or snapshot.now


def start_left(snapshot: Snapshot) -> timedelta:
    """How long until a launcher that waits for workers is created without those that are not ready."""
    at = None if snapshot.form.exists(snapshot) else _early_start(snapshot)
    return NEVER if at is None else at - snapshot.now


def predecessors(snapshot: Snapshot) -> tuple[Pod, ...]:
    """Workers on which ranks of an earlier launcher may still run."""
    members = set(snapshot.ledger.members)
    return tuple(pod for index, pod in snapshot.workers.items() if index not in members)


def ready(snapshot: Snapshot) -> tuple[int, ...]:
    """Without those that a scaler adds, until all of them may be listed."""
    held = set(newcomers.held_back(snapshot))
    pods = ((index, snapshot.workers.get(index)) for index in snapshot.members if index not in held)
    return tuple(index for index, pod in pods if pod is not None and pod.serves)


def able(snapshot: Snapshot) -> tuple[int, ...]:
    """Members that are in the host list or may be added now."""
    steps = (Step.LIST, Step.STAY) if settled(snapshot) else (Step.STAY,)
    held = set(newcomers.held_back(snapshot))
    found = stages.staying(snapshot, snapshot.members)
    return tuple(index for index, step in found if step in steps and index not in held)


def settled(snapshot: Snapshot) -> bool:
    """Whether the launcher notices hosts that are added now."""
    pod = snapshot.launcher
    return pod is None or not snapshot.ledger.serves or _settle_left(snapshot, pod) <= timedelta(0)


def listed(snapshot: Snapshot) -> tuple[Ledger, timedelta]:
    """The ledger with the host list that is possible now, and how long until more may be listed."""
    ledger, pod = snapshot.ledger, snapshot.launcher
    if pod is None or not pod.alive:
        return ledger, NEVER
    if not ledger.serves:
        return _first_list(snapshot, pod)
    now = able(snapshot)
    held_back = len(now) < len(ready(snapshot))
    wait = _settle_left(snapshot, pod) if held_back else NEVER
    return newcomers.listed(snapshot, _listing(ledger, now)), wait


def _first_list(snapshot: Snapshot, pod: Pod) -> tuple[Ledger, timedelta]:
    """All workers at once when all are ready; after a while as many as the launcher needs to start."""
    ledger, least, found = snapshot.ledger, snapshot.sizes.start_size, ready(snapshot)
    if predecessors(snapshot):
        return ledger, NEVER
    if len(found) < (snapshot.wanted_size if least is None else least.workers):
        return ledger, NEVER
    given = replace(_listing(ledger, found), serves=pod.uid, started_with=found)
    if len(found) >= snapshot.wanted_size or snapshot.shape.starts_early:
        return given, NEVER
    patience = _start_time(snapshot, pod) - snapshot.now
    return (ledger, patience) if patience > timedelta(0) else (given, NEVER)


def starts_at(snapshot: Snapshot) -> datetime | None:
    """When a launcher starts with the workers that are ready; None if they do not suffice, or if no other worker is
    waited for."""
    least, pod, found = snapshot.sizes.start_size, snapshot.launcher, ready(snapshot)
    if snapshot.shape.starts_early:
        return None if snapshot.form.exists(snapshot) else _early_start(snapshot)
    if least is None or pod is None or not pod.alive or snapshot.ledger.serves or predecessors(snapshot):
        return None
    return _start_time(snapshot, pod) if least.workers <= len(found) < snapshot.wanted_size else None


def _start_time(snapshot: Snapshot, pod: Pod) -> datetime:
    return after(pod.created or snapshot.now, snapshot.seconds("start-seconds", START_SECONDS))


def refusal(snapshot: Snapshot) -> str:
    """Why the launcher cannot start with the requested number of workers, and what to do; empty if it can."""
    least = snapshot.sizes.start_size
    if least is None or snapshot.ledger.serves or snapshot.wanted_size >= least.workers:
        return ""
    return least.refusal(snapshot.wanted_size)


def _listing(ledger: Ledger, indices: tuple[int, ...]) -> Ledger:
    used = tuple(sorted({*ledger.used, *indices} & set(ledger.members)))
    same = (ledger.listed, ledger.used) == (indices, used)
    return ledger if same else replace(ledger, listed=indices, used=used)


def _settles(snapshot: Snapshot, pod: Pod) -> bool:
    """Whether the launcher may overlook a host that is added now: it does until rank 0 has registered. A launcher that
    reports training ranks is past that."""
    return snapshot.sizes.settles and not progress.of(pod).ranks


def _settle_left(snapshot: Snapshot, pod: Pod) -> timedelta:
    if pod.phase != RUNNING or not _settles(snapshot, pod):
        return timedelta(0)
    return max(_settle_time(snapshot, pod) - snapshot.now, timedelta(0))


def settled_at(snapshot: Snapshot) -> datetime | None:
    """Until when new workers are held back from a running launcher."""
    pod = snapshot.launcher
    if pod is None or not snapshot.launcher_runs or not snapshot.ledger.serves or not _settles(snapshot, pod):
        return None
    return _settle_time(snapshot, pod)


def _settle_time(snapshot: Snapshot, pod: Pod) -> datetime:
    return after(pod.started or snapshot.now, snapshot.seconds("settle-seconds", SETTLE_SECONDS))


def nudged(snapshot: Snapshot) -> tuple[tuple[Action, ...], timedelta]:
    """A changed annotation makes the kubelet sync the pod's volumes at once instead of within a minute. It is repeated
    two seconds later, in case the kubelet did not have the new list yet."""
    pod, config = snapshot.launcher, snapshot.config
    if pod is None or not pod.alive or not pod.node or config is None or not snapshot.ledger.serves:
        return (), NEVER
    if causes.lost(pod):
        return (), NEVER  # no kubelet would notice, and the pod may be deleted by this very plan
    version = config.resource_version
    if pod.annotations.get(NUDGE) != version:
        return (_annotate(pod, {NUDGE: version, NUDGED_AT: snapshot.now.isoformat()}),), NUDGE_REPEAT
    if pod.annotations.get(NUDGED_AGAIN) == version:
        return (), NEVER
    left = NUDGE_REPEAT - snapshot.since(_moment(pod.annotations.get(NUDGED_AT, "")))
    if left > timedelta(0):
        return (), left
    return (_annotate(pod, {NUDGED_AGAIN: version}),), NEVER


def _moment(given: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(given)
    except ValueError:
        return None
    return moment if moment.tzinfo else None


def _annotate(pod: Pod, annotations: dict[str, str]) -> Patch:
    return Patch(Key("v1", "Pod", pod.name), {"metadata": {"annotations": annotations}}, uid=pod.uid)
