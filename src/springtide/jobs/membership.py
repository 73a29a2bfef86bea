# SPDX-License-Identifier: Apache-2.0
"""Which workers a job has, and which of them the launcher is told, from now on: the next ledger, and the decisions that
lead to it. One step after another, each from the ledger that the step before leaves.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from springtide.jobs.actions import Decision
from springtide.jobs.endings import causes
from springtide.jobs.launchers import launching, relocating
from springtide.jobs.ledger import Ledger
from springtide.jobs.policies import job_restart_policy, max_wait_time, worker_restart_policy
from springtide.jobs.replicas import deferring, indexed_roles, moving, moving_in_place, resizing, workers
from springtide.jobs.reporting import setbacks
from springtide.jobs.scaling import newcomers, victims
from springtide.jobs.snapshot import Snapshot
from springtide.jobs.times import NEVER


def decided(seen: Snapshot) -> tuple[Snapshot, list[Decision], list[timedelta]]:
    """The members of the job and of the host list from now on."""
    why: list[Decision] = []
    then = _relocated(_restarted(_relieved(_rolled_back(seen, why), why), why), why)
    then, wait = _resized(_moved(_shrunk_by_name(then, why), why), why)
    then = _resized_in_place(then, why)
    then = then.with_ledger(resizing.forgotten(then))
    ledger, failures = indexed_roles.answered(then)
    then, why = then.with_ledger(ledger), [*why, *failures]
    ledger, listing = launching.listed(then)
    then = then.with_ledger(ledger)
    then = then.with_ledger(max_wait_time.noted(then))
    return then.with_ledger(setbacks.made_good(then)), why, [wait, listing]


def _rolled_back(seen: Snapshot, why: list[Decision]) -> Snapshot:
    """Workers that a scaler added which is not in progress any more are removed: no rank runs on them."""
    gone = newcomers.rolled_back(seen)
    if not gone:
        return seen
    there = tuple(index for index in gone if index in seen.ledger.members)
    if there:
        message = f"{seen.worker_names(there)} will be removed: the ScaleOut that added them did not succeed"
        why.append(Decision(seen.now, "ScalingRolledBack", message))
    return seen.with_ledger(replace(resizing.without(seen, there), joining=(), joining_for=""))


def _shrunk_by_name(seen: Snapshot, why: list[Decision]) -> Snapshot:
    """The workers that the ScaleIn in progress names are removed, before any other is chosen."""
    gone = victims.due(seen)
    if not gone or seen.scaler is None:
        return seen
    size = len(seen.ledger.members)
    message = f"{size} → {size - len(gone)} workers: {seen.worker_names(gone)} will be removed ({seen.scaler.title})"
    why.append(Decision(seen.now, "ScalingIn", message))
    return seen.with_ledger(resizing.without(seen, gone))


def _relieved(seen: Snapshot, why: list[Decision]) -> Snapshot:
    """Lost workers are removed from the members so that they can be replaced."""
    lost = workers.losses(seen)
    if launching.run_over(seen):
        return seen
    for loss in lost:
        name = seen.worker_name(loss.index)
        if not loss.replaced:
            message = worker_restart_policy.told(seen, name, loss.cause)
            why.append(Decision(seen.now, worker_restart_policy.NOT_REPLACED, message, warning=True))
            continue
        reason = "WorkersMoved" if loss.pod is not None and causes.moved(loss.pod) else "WorkerReplaced"
        warns = loss.counts or (reason == "WorkerReplaced" and seen.shape.worker_restarts is not None)
        why.append(Decision(seen.now, reason, f"{name} {loss.cause}; a replacement is created", warns))
    return seen.with_ledger(workers.without(seen, lost))


def _restarted(seen: Snapshot, why: list[Decision]) -> Snapshot:
    """A failed launcher is created again; none of its workers are reused."""
    failed, then = seen.form.failed(seen), seen
    broken = "" if failed is not None else job_restart_policy.retried(seen)
    if failed is not None:
        then = then.with_ledger(launching.counted(then, failed))
        message = f"The launcher {causes.worker(failed)}; it is tried again{_tries(then)}"
        why.append(Decision(seen.now, "LauncherRestarted", message, warning=True))
    elif broken:
        then = then.with_ledger(job_restart_policy.counted(then))
        why.append(
            Decision(seen.now, "JobRestarted", f"{broken}; the job is started again{_tries(then)}", warning=True)
        )
    if launching.run_over(seen):
        cause, advice = launching.ending(seen)
        cause = cause if cause and failed is None else "is gone"
        message = f"The launcher {cause}; workers are replaced, because its ranks may outlive it"
        why.append(Decision(seen.now, "WorkersRenewed", message))
        why += advised(seen, advice)
        ledger, losses = setbacks.after(then)
        why += losses
        then = then.with_ledger(launching.fresh_run(ledger))
    elif broken:
        then = then.with_ledger(launching.fresh_run(then.ledger))
    return then


def _tries(then: Snapshot) -> str:
    return f", {then.ledger.retries} of {then.job.run.retries.by_engine}" if then.ledger.retries else ""


def advised(seen: Snapshot, advice: str) -> list[Decision]:
    return [Decision(seen.now, "LauncherAdvice", advice, warning=True)] if advice else []


def _relocated(seen: Snapshot, why: list[Decision]) -> Snapshot:
    ledger, notices = relocating.noticed(seen)
    why += notices
    return seen.with_ledger(ledger)


def _moved(seen: Snapshot, why: list[Decision]) -> Snapshot:
    """Workers on nodes that are going away leave once their replacements can serve."""
    ledger, notices = moving_in_place.noticed(seen) if seen.shape.keeps_names else moving.noticed(seen)
    why += notices
    then = seen.with_ledger(ledger)
    gone = moving.gone(then)
    if not gone:
        return then
    names = then.worker_names(gone)
    message = f"{names} will be removed, because their nodes are being drained or removed"
    why.append(Decision(seen.now, "WorkersMoved", message))
    return then.with_ledger(resizing.without(then, gone))


def _resized(seen: Snapshot, why: list[Decision]) -> tuple[Snapshot, timedelta]:
    """Workers about to be replaced are not counted in the size but stay until then. Workers that serve a launcher that
    is not elastic stay until that launcher ends. Those that a scaler adds are counted separately."""
    others, joining = {*moving.leavers(seen), *newcomers.members(seen)}, newcomers.members(seen)
    staying = [index for index in seen.ledger.members if index not in others]
    size, wanted = len(staying), 0 if seen.shape.keeps_names else seen.wanted_size - newcomers.awaited(seen)
    if size > wanted:
        held = set(deferring.held(seen))
        gone = tuple(index for index in resizing.ranked(seen, staying) if index not in held)[: size - wanted]
        if gone:
            message = f"{size} → {size - len(gone)} workers: {seen.worker_names(gone)} will be removed"
            why.append(Decision(seen.now, "ScalingIn", message))
        return seen.with_ledger(resizing.shrunk(seen, gone)), NEVER
    missing = wanted - size + newcomers.awaited(seen) - len(joining)
    ledger, wait = workers.filled(seen, missing)
    ledger = newcomers.added(seen, ledger, wanted - size)
    grows = len(ledger.members) > len(seen.ledger.members) and not {"WorkerReplaced", "WorkersMoved", "NodeLeaving"} & {
        decision.reason for decision in why
    }
    why += _replacements(seen, ledger)
    if grows and seen.ledger.serves and not seen.ledger.owed:
        by = f" ({seen.scaler.title})" if seen.scaler is not None and ledger.joining else ""
        sizes = f"{size + len(joining)} → {seen.wanted_size} workers"
        why.append(Decision(seen.now, "ScalingOut", f"{sizes}{_caveat(seen)}{by}"))
    return seen.with_ledger(ledger), wait


def _replacements(seen: Snapshot, ledger: Ledger) -> list[Decision]:
    """For kinds in which users choose whether workers are replaced."""
    due = len(seen.ledger.owed) - len(ledger.owed)
    new = ledger.members[len(seen.ledger.members) :][: max(due, 0)]
    if not new or seen.shape.worker_restarts is None:
        return []
    message = f"{seen.worker_names(new)} {'replaces a lost worker' if len(new) == 1 else 'replace lost workers'}"
    return [Decision(seen.now, worker_restart_policy.CREATED, message)]


def _resized_in_place(seen: Snapshot, why: list[Decision]) -> Snapshot:
    """For replicas that keep their names the size alone determines the members: only the size is recorded."""
    role, wanted = seen.shape.workers, seen.wanted_size
    before = seen.ledger.sizes.get(role)
    sizes = {**seen.asked_sizes, **seen.ledger.sizes} | ({role: wanted} if role in seen.job.roles else {})
    if not seen.shape.fixed or seen.too_large or sizes == seen.ledger.sizes:
        return seen
    if before is not None and wanted < before:
        names = seen.worker_names(range(before - 1, wanted - 1, -1))
        why.append(Decision(seen.now, "ScalingIn", f"{before} → {wanted} workers: {names} will be removed"))
    elif before is not None:
        why.append(Decision(seen.now, "ScalingOut", f"{before} → {wanted} workers"))
    return seen.with_ledger(replace(seen.ledger, sizes=sizes))


def _caveat(seen: Snapshot) -> str:
    return f"; {seen.sizes.rigid}, so the new ones count from its next start" if deferring.applies(seen) else ""
