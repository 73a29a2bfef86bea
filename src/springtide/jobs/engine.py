# SPDX-License-Identifier: Apache-2.0
"""Makes a plan from what is observed of a job; the same for all kinds.

The order of a plan's actions keeps a job consistent when the execution is interrupted:

    wiring (Role: wide enough for all workers that are or will be listed and whose pods were observed)
      ─► config object (ledger and host list; rejected if the view was stale)
      ─► wiring (Role: without the workers that are about to be deleted)
      ─► pods created ─► pods deleted (after their names left list and Role) ─► nudge ─► events, status
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from springtide.api.kinds.conditions import finished
from springtide.api.kinds.status import JobStatus
from springtide.api.names import LABEL_LENGTH
from springtide.jobs import host_list, membership, objects, snapshot
from springtide.jobs.actions import (
    Action,
    Create,
    Decision,
    Delete,
    Patch,
    Plan,
    RequeueAfter,
    StatusPatch,
)
from springtide.jobs.endings import finishing
from springtide.jobs.endings.outcomes import Outcome
from springtide.jobs.kind import NOBODY, Hosts, Kind, Wanted
from springtide.jobs.launchers import launching, relocating
from springtide.jobs.ledger import Ledger
from springtide.jobs.observed import Key, Observed
from springtide.jobs.parts import gangs, wiring
from springtide.jobs.policies import (
    active_deadline,
    backoff_limit,
    clean_pod_policy,
    max_wait_time,
    suspend,
    ttl_after_finished,
)
from springtide.jobs.projected import projected
from springtide.jobs.replicas import indexed_roles, moving, moving_in_place, resizing, stages
from springtide.jobs.replicas.stages import Step
from springtide.jobs.reporting import decision_log as log
from springtide.jobs.reporting import rank_changes, status, training_progress, wait_causes
from springtide.jobs.scaling import advancing, drains, newcomers, scripts
from springtide.jobs.snapshot import Snapshot
from springtide.jobs.times import NEVER


def plan(observed: Observed, kind: Kind, now: datetime) -> Plan:
    """Pure: the same view at the same moment gives the same plan."""
    seen = snapshot.read(observed, kind, now)
    if outcome := _ending(seen):
        advice = () if outcome.succeeded else membership.advised(seen, launching.ending(seen)[1])
        return _told(seen, (), advice, status.ended(seen, outcome))
    then, first = advancing.advanced(seen)
    rest = _of_job(then)
    return replace(rest, actions=(*first, *rest.actions)) if first else rest


def _ending(seen: Snapshot) -> Outcome | None:
    """How the job ends now: its scalers end after it."""
    job = seen.job
    over = job.metadata.deletion_timestamp is not None or finished(job.status.conditions)
    return None if over else finishing.outcome(seen)


def _of_job(seen: Snapshot) -> Plan:
    job = seen.job
    if job.metadata.deletion_timestamp is not None:
        return Plan((), job.status)
    if finished(job.status.conditions):
        return _after(seen)
    if (marking := max_wait_time.marking(seen)) is not None:
        return _told(seen, (marking,), (), job.status)
    if job.run.suspend:
        return _suspended(seen)
    if (seen.too_large and not seen.kept_size) or seen.too_long:
        return _told(seen, (), (), status.held_back(seen), [max_wait_time.left(seen)])
    return _ongoing(seen)


MOST_PODS = 200
"""Pods that one plan creates or deletes, and as many other objects. The next plan continues from there, after other
jobs have been reconciled."""
_NEXT = timedelta(milliseconds=1)


def _ongoing(seen: Snapshot) -> Plan:
    then, why, waits = membership.decided(seen)
    going = (
        *indexed_roles.removable(then),
        *resizing.removable(then),
        *then.form.replaced(then),
        *relocating.deleted(then),
        *moving_in_place.deleted(then),
    )
    hosts = host_list.hosts(then, going)
    wanted = wiring.wanted(then.kind, then.job, hosts)
    actions = _hosts_written(seen, then, hosts, wanted, why)
    rewritten = any(isinstance(action, Patch) and action.key == seen.config_key for action in actions)
    actions += _group(then)
    actions += _worker_pods(then)
    actions += [*indexed_roles.created(then, MOST_PODS), *launching.created(then), *then.form.switched(then)]
    actions += relocating.suspended(then)
    actions += _freed(then, wanted)
    actions += [*drains.events(then, going), *objects.deletions(going)]
    actions += scripts.started(then)
    if not rewritten and then.launcher not in going:
        nudge, wait = launching.nudged(then)
        actions += nudge
        waits.append(wait)
    waits += [
        active_deadline.left(then),
        max_wait_time.left(then),
        backoff_limit.restart_left(then),
        launching.start_left(then),
    ]
    waits += [moving.left(then, index) for index in (*moving.leavers(then), *moving_in_place.leavers(then))]
    waits += [resizing.drain_left(then, index) for index in then.ledger.draining]
    waits.append(advancing.left(then))
    inquiries, wait = wait_causes.inquiries(then)
    actions += inquiries
    waits.append(wait)
    return _told(then, actions, why, status.ongoing(projected(then, actions)), waits)


def _suspended(seen: Snapshot) -> Plan:
    """Deletes all pods. Once the last one is gone the job is reset: the next run starts with fresh names."""
    # The size of the last scaler may not be in the spec yet.
    reset = Ledger(has_run=seen.ledger.has_run, scaled=seen.ledger.scaled)
    then = seen.with_ledger(reset if suspend.is_quiet(seen) else launching.fresh_run(seen.ledger))
    hosts = host_list.hosts(then, seen.observed.pods)
    wanted = wiring.wanted(then.kind, then.job, hosts)
    actions = [*_hosts_written(seen, then, hosts, wanted, ()), *suspend.stopped(then), *_ungrouped(then)]
    actions += launching.created(then)
    actions += _freed(then, wanted)
    return _told(then, actions, (), status.suspended(then))


def _after(seen: Snapshot) -> Plan:
    """Cleans up a finished job once, and deletes it when its time to live is over."""
    left = ttl_after_finished.left(seen)
    if left <= timedelta(0):
        return Plan((ttl_after_finished.deletion(seen),), seen.job.status)
    cleaned = clean_pod_policy.cleaned(seen)
    actions = [
        *_unlisted(seen, cleaned),
        *_withdrawn(seen),
        *cleaned,
        *(_ungrouped(seen) if clean_pod_policy.frees_group(seen) else ()),
        *_freed_after(seen),
    ]
    return _told(seen, actions, (), status.over(seen), [left])


def _unlisted(seen: Snapshot, cleaned: Iterable[Action]) -> list[Action]:
    """Empties the host list before pods are deleted, so that it never names a pod about to be deleted."""
    if seen.config is None or not any(cleaned):
        return []
    return _config(seen, seen.with_ledger(launching.fresh_run(seen.ledger)), NOBODY, ())


def _withdrawn(seen: Snapshot) -> list[Action]:
    """The launcher of a finished job loses its rights: other pods may later get its workers' names."""
    wanted = (each for each in wiring.wanted(seen.kind, seen.job, NOBODY) if each.grants)
    held = (each for each in wanted if objects.key_of(each.manifest) in seen.observed.objects)
    return [action for each in held for action in objects.ensured(seen.observed, each)]


def _hosts_written(
    seen: Snapshot, then: Snapshot, hosts: Hosts, after: tuple[Wanted, ...], why: Iterable[Decision]
) -> list[Action]:
    """The launcher can reach every listed worker at all times: the Role is widened before the host list is written and
    narrowed after it."""
    still = {*host_list.listed(seen)} - {*hosts.reachable}
    wide = replace(hosts, reachable=(*hosts.reachable, *sorted(still))) if still else hosts
    before = wiring.wanted(then.kind, then.job, wide) if still else after
    first, last = objects.in_two_steps(then.observed, before, after)
    return [*first, *_config(seen, then, hosts, why), *last]


def _freed(then: Snapshot, needed: Iterable[Wanted]) -> tuple[Action, ...]:
    """Deletions of objects beside the pods that are no longer needed."""
    if not then.observed.objects:
        return ()
    group = _wanted_group(then)
    wanted = (*needed, *((group,) if group else ()))
    return objects.surplus(then.observed, {then.config_key, *(objects.key_of(each.manifest) for each in wanted)})


def _freed_after(seen: Snapshot) -> tuple[Action, ...]:
    """The same for a job that has finished: what its replicas need goes with them, and none is created any more."""
    there = tuple(index for index in seen.ledger.members if index in seen.workers)
    then = seen.with_ledger(replace(seen.ledger, members=there))
    hosts = host_list.hosts(then)
    if clean_pod_policy.stops(seen):
        then = seen.with_ledger(launching.fresh_run(seen.ledger))
        hosts = replace(host_list.hosts(then), fixed=(), leaving=())
    return _freed(then, wiring.wanted(then.kind, then.job, hosts))


def _config(seen: Snapshot, then: Snapshot, hosts: Hosts, why: Iterable[Decision]) -> list[Action]:
    """Writes the ledger, the host list and the decision log in one request."""
    data = dict(wiring.files(then.kind, then.job, hosts, then.observed.settings))
    annotations, held = then.ledger.annotations(), seen.config
    before = held.annotations if held else {}
    metadata = objects.named(then.job, then.shape.config_name, labels=_app(then), annotations=annotations)
    body: dict[str, Any] = {
        "metadata": {"labels": metadata["labels"], "annotations": annotations},
        "data": data,
    }
    if held is not None and objects.covers(held.body, body):
        return []
    annotations[log.ANNOTATION] = log.logged(before, why)
    if held is not None:
        return [Patch(seen.config_key, body, held.resource_version)]
    return [Create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}, must_be_new=True)]


def _app(then: Snapshot) -> Mapping[str, str]:
    return {"app": then.job.metadata.name}


def _worker_pods(then: Snapshot) -> list[Action]:
    members = sorted(set(then.ledger.members) - set(then.ledger.dead))
    missing = (index for index, step in stages.staying(then, members) if step is Step.CREATE)
    joining = set(newcomers.members(then))
    planned = islice(missing, MOST_PODS)  # those that are created cause the next plan
    return [Create(_worker_pod(then, index, newcomer=index in joining)) for index in planned]


def _worker_pod(then: Snapshot, index: int, *, newcomer: bool) -> Mapping[str, Any]:
    pod = then.kind.pod(then.job, then.shape.workers, index, then.observed.settings)
    if then.scaler is None or not newcomer:
        return pod
    metadata, label = pod["metadata"], then.kind.scaler_label()
    if not label or len(then.scaler.name) > LABEL_LENGTH:
        return pod
    return {**pod, "metadata": {**metadata, "labels": {**metadata["labels"], label: then.scaler.name}}}


def _wanted_group(then: Snapshot) -> Wanted | None:
    return gangs.group(
        then.job, then.shape, then.wanted_size, then.observed.settings.gang_scheduler, then.observed.priorities
    )


def _group(then: Snapshot) -> list[Action]:
    wanted = _wanted_group(then)
    return [*objects.ensured(then.observed, wanted)] if wanted else []


def _ungrouped(then: Snapshot) -> list[Action]:
    wanted = _wanted_group(then)
    key: Key | None = objects.key_of(wanted.manifest) if wanted else None
    held = then.observed.objects.get(key) if key else None
    return [Delete(key, held.uid)] if key and held else []


def _told(
    then: Snapshot,
    actions: Iterable[Action],
    why: Iterable[Decision],
    new: JobStatus,
    waits: Iterable[timedelta] = (),
) -> Plan:
    """The plan: the actions and the decisions' events first, then the single write of the status, the status' events
    last. The write may be rejected; then the next plan reports the change. The answer to the write causes another
    plan."""
    why, old = tuple(why), then.job.status
    actions = tuple(actions)
    told: list[Action] = [*actions, *_events(then, why)]
    if (part := _one_turn(actions)) is not None:
        return Plan((*part, *_events(then, why), RequeueAfter(_NEXT)), old, why)
    throttle = training_progress.too_soon(then, new)
    if new != old and throttle <= timedelta(0):
        told += (StatusPatch(new), *status.events(old, new, then.kind.is_quiet), *rank_changes.events(then, new))
    elif (size := advancing.size_written(then)) is not None:
        told.append(size)  # with the version of the job that was observed, so only where its status is not written
    soonest = min((wait for wait in (*waits, throttle) if wait > timedelta(0)), default=NEVER)
    if soonest != NEVER:
        told.append(RequeueAfter(soonest))
    return Plan(tuple(told), new, why)


def _events(then: Snapshot, why: Iterable[Decision]) -> tuple[Action, ...]:
    return tuple(replace(each, reason=then.kind.event_reason(each.reason)) for each in log.events(why))


def _one_turn(actions: Iterable[Action]) -> list[Action] | None:
    """The part of a too long plan that is executed now; cutting it equals an interrupted execution."""
    found: list[Action] = []
    counts = Counter[bool]()
    for action in actions:
        if isinstance(action, Create | Delete):
            is_pod = _kind(action) == "Pod"
            counts[is_pod] += 1
            if counts[is_pod] > MOST_PODS:
                return found
        found.append(action)
    return None


def _kind(action: Create | Delete) -> str:
    return str(action.manifest["kind"]) if isinstance(action, Create) else action.key.kind
