# SPDX-License-Identifier: Apache-2.0
"""Why a job waits: the one cause among those of its pods that users see, and the command that shows more.

The cause is part of the job's explanation and, if a user has to act, of the condition `Waiting`. The condition records
what was reported: an event is recorded when the cause changes, not when only its numbers do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from springtide.api.kinds.conditions import Condition, condition, holds
from springtide.jobs import observed
from springtide.jobs.actions import Action, Inquire
from springtide.jobs.endings import causes
from springtide.jobs.observed import Key, LauncherJob, Pod, Waiting, WarningEvent
from springtide.jobs.reporting import quoting
from springtide.jobs.reporting.conditions import Conditions, false, true, updated
from springtide.jobs.snapshot import Snapshot
from springtide.jobs.times import clock

WAITING: Final = "Waiting"
"""The type of the condition."""
UNSCHEDULABLE: Final = "Unschedulable"
GATED: Final = "SchedulingGated"
IMAGE_PULL: Final = "ImagePullBackOff"
CRASH_LOOP: Final = "CrashLoopBackOff"
CONTAINER_CREATING: Final = "ContainerCreating"
QUOTA: Final = "QuotaExceeded"
FAILED_CREATE: Final = "FailedCreate"

PATIENCE: Final = timedelta(seconds=10)
"""If a pod takes longer to create its containers, or a Job to create its pod, its events are looked up."""
ASK_AGAIN: Final = timedelta(seconds=60)
STEADY: Final = timedelta(seconds=60)
"""A crash-looping container has recovered when it has run this long."""
_REFRESH: Final = timedelta(seconds=60)
"""How long an old number is kept before a newer one alone is worth a write."""
_DETAIL: Final = 600
"""The longest quotation of a message, in characters."""
_ALIASES: Final = {"ErrImagePull": IMAGE_PULL}
"""The kubelet alternates between the two."""
_ORDER: Final = (UNSCHEDULABLE, "SchedulerError", "", IMAGE_PULL, CRASH_LOOP, GATED, CONTAINER_CREATING)
"""The order in which causes are reported; the empty one stands for all that are not named."""
_QUIET: Final = frozenset({GATED, CONTAINER_CREATING})
"""Causes that do not indicate a problem."""
_COMMAND: Final = re.compile(r"\b(?:kubectl|tide) [a-z]")
_WHOLE_COMMAND: Final = re.compile(rf"{_COMMAND.pattern}.*?(?=;|\. |$)")
_ENDS_IN_COMMAND: Final = re.compile(r"(?:; see|:) (?:kubectl|tide) [a-z][^;\n]*$")
_SHORT: Final = re.compile(r"\d+ Insufficient (\S+)")
_AFTER_FILTERS: Final = re.compile(r" (?:no new claims to deallocate, )?preemption:")
"""Begins what the scheduler reports of the steps after its filters."""
_NUMBERS: Final = re.compile(r"\d+")
_BACK_OFF: Final = re.compile(r'Back-off pulling image "[^"]*"(?:: ErrImagePull: )?')
_CRASHES: Final = "keeps crashing"
_QUOTA: Final = "exceeded quota"
_SEE: Final = "; see "


@dataclass(frozen=True, slots=True)
class Cause:
    reason: str
    message: str
    """Without a full stop."""
    warns: bool = True
    """A user has to act."""

    @property
    def sentence(self) -> str:
        """Users copy a command up to the end of the line, where a full stop would become a part of its last
        argument."""
        return self.message if ends_in_command(self.message) else f"{self.message}."


def found(snapshot: Snapshot) -> Cause | None:
    """The cause, for a job as it will be after its plan: pods without a uid are about to be created."""
    if (kept := _refused_before(snapshot)) is not None:
        return kept
    groups: dict[str, list[Pod]] = {}
    for pod in _pods(snapshot):
        if (reason := _reason(snapshot, pod)) is not None:
            groups.setdefault(reason, []).append(pod)
    if groups:
        reason = min(groups, key=_rank)
        return _of_pods(snapshot, reason, groups[reason])
    batch = _idle_launcher_job(snapshot)
    return _of_launcher_job(snapshot, batch) if batch is not None else None


def of_worker(snapshot: Snapshot, pod: Pod | None) -> str:
    """Why a worker is not ready, as a clause."""
    before = condition(snapshot.job.status.conditions, WAITING)
    if pod is None:
        known = before is not None and (before.status, before.reason) in (("True", QUOTA), ("True", FAILED_CREATE))
        return before.message.rstrip(".") if before is not None and known else "its pod is not created yet"
    if pod.phase == observed.RUNNING:
        return "it runs, but is not ready"
    waits, reason = pod.waiting, _reason(snapshot, pod)
    if waits is None or reason is None:
        return "its containers are being created" if pod.node else "it waits for a place on a node"
    if reason == UNSCHEDULABLE:
        return _unplaced(waits.message)
    if reason == CONTAINER_CREATING:
        return f"it {_creating(snapshot, waits, many=False)}"
    said = " ".join(waits.message.split()).rstrip(".")
    return f"{reason}: {_shortened(said) if len(said) > _DETAIL else said}" if said else reason


def _unplaced(message: str) -> str:
    """If all nodes lack the same, that alone; otherwise what the scheduler reports of them."""
    text = " ".join(_AFTER_FILTERS.split(message)[0].split()).rstrip(".")
    _, _, nodes = text.partition(" nodes are available: ")
    found = [_SHORT.fullmatch(each.strip()) for each in nodes.split(", ")]
    short = {each.group(1) for each in found if each is not None}
    if len(short) == 1 and all(found):
        return f"no node has {short.pop()} free"
    return text or "it cannot be scheduled"


def _refused_before(snapshot: Snapshot) -> Cause | None:
    """A rejection stays the cause until the rejected object exists; each plan tries again to create it."""
    before, batch = condition(snapshot.job.status.conditions, WAITING), snapshot.observed.launcher_job
    if before is None or before.status != "True" or before.reason not in (QUOTA, FAILED_CREATE):
        return None
    missing = any(not pod.uid for pod in snapshot.observed.pods) or (batch is not None and not batch.uid)
    return Cause(before.reason, before.message.rstrip(".")) if missing else None


def inquiries(snapshot: Snapshot) -> tuple[Sequence[Action], timedelta]:
    """The object whose events are to be looked up because its status explains nothing, and when to reconcile again. At
    most one object: pods of a job mostly wait for the same."""
    stuck = ((pod, pod.waiting) for pod in _pods(snapshot))
    created = [(pod, waits) for pod, waits in stuck if waits is not None and waits.reason == CONTAINER_CREATING]
    late = [pod for pod, waits in created if not waits.sandbox and _left(snapshot, waits.since) <= timedelta(0)]
    if late:
        return (Inquire(Key("v1", "Pod", late[0].name), late[0].uid),), ASK_AGAIN
    batch, name = _idle_launcher_job(snapshot), snapshot.shape.launcher_name
    if batch is not None and _left(snapshot, batch.started) <= timedelta(0):
        return (Inquire(Key("batch/v1", "Job", name), batch.uid),), ASK_AGAIN
    waits_for = [_left(snapshot, waits.since) for _, waits in created]
    waits_for += [_left(snapshot, batch.started)] if batch is not None else []
    waits_for += _recovering(snapshot)
    return (), min((each for each in waits_for if each > timedelta(0)), default=timedelta.max)


def _left(snapshot: Snapshot, since: datetime | None) -> timedelta:
    return PATIENCE - snapshot.since(since) if since is not None else PATIENCE


def _recovering(snapshot: Snapshot) -> list[timedelta]:
    restarted = [pod.waiting.restarted for pod in _pods(snapshot) if pod.waiting and pod.waiting.restarted]
    return [STEADY - snapshot.since(moment) for moment in restarted]


def _pods(snapshot: Snapshot) -> Iterable[Pod]:
    """Pods of the job that have not ended: workers by index, then the others."""
    members = (snapshot.workers.get(index) for index in sorted(snapshot.members))
    yield from (pod for pod in members if pod is not None and pod.alive)
    others = (pod for pod in snapshot.observed.pods if pod.role != snapshot.shape.workers)
    yield from (pod for pod in others if pod.alive)


def _reason(snapshot: Snapshot, pod: Pod) -> str | None:
    waits = pod.waiting
    if waits is None:
        return None
    if waits.reason == CONTAINER_CREATING:
        if _left(snapshot, waits.since) > timedelta(0):
            return None
        trouble = _trouble(snapshot, pod)
        return trouble.reason if trouble is not None and not waits.sandbox else CONTAINER_CREATING
    if waits.reason == CRASH_LOOP and not waits.message and not _still_crashes(snapshot, waits):
        return None
    return _ALIASES.get(waits.reason, waits.reason)


def _trouble(snapshot: Snapshot, pod: Pod) -> WarningEvent | None:
    """The Warning event of the pod, otherwise that of the one pod of the job whose events were looked up."""
    troubles, batch = snapshot.observed.troubles, snapshot.observed.launcher_job
    others = (trouble for uid, trouble in troubles.items() if batch is None or uid != batch.uid)
    return troubles.get(pod.uid) or next(others, None)


def _still_crashes(snapshot: Snapshot, waits: Waiting) -> bool:
    """Between two crashes a container runs for a moment, which does not end the cause."""
    before = condition(snapshot.job.status.conditions, WAITING)
    known = before is not None and (before.status, before.reason) == ("True", CRASH_LOOP)
    return known and (waits.restarted is None or snapshot.since(waits.restarted) < STEADY)


def _rank(reason: str) -> int:
    return _ORDER.index(reason if reason in _ORDER else "")


def _of_pods(snapshot: Snapshot, reason: str, pods: Sequence[Pod]) -> Cause:
    first, who = pods[0], _who(snapshot, pods)
    waits, trouble = first.waiting, _trouble(snapshot, first)
    assert waits is not None  # `_reason` is None for other pods
    lead = f"kubectl describe pod {first.name} -n {snapshot.job.metadata.namespace}"
    if reason == UNSCHEDULABLE:
        message = _joined(f"{who} cannot be scheduled", waits.message, lead)
    elif reason == GATED:
        message = _joined(f"{who} cannot be scheduled before all gates are removed", waits.message, lead)
    elif reason == IMAGE_PULL:
        message = _joined(f"{who} cannot pull an image", _pull_error(snapshot, waits.message), lead)
    elif reason == CRASH_LOOP:
        message = _crashing(snapshot, pods, waits)
    elif reason == CONTAINER_CREATING:
        message = f"{who} {_creating(snapshot, waits, many=len(pods) > 1)}"
    else:
        said = trouble.message if trouble is not None and waits.reason == CONTAINER_CREATING else waits.message
        message = _joined(f"{who} cannot start", f"{reason}: {said}" if said else reason, lead)
    return Cause(reason, message, warns=reason not in _QUIET)


def _who(snapshot: Snapshot, pods: Sequence[Pod]) -> str:
    """`pi-worker-0`, `2 of 4 workers`, `2 of 4 workers and pi-launcher`."""
    workers = [pod.name for pod in pods if pod.role == snapshot.shape.workers]
    others = [pod.name for pod in pods if pod.role != snapshot.shape.workers]
    named = workers if len(workers) < 2 else [f"{len(workers)} of {snapshot.wanted_size} workers"]
    more = [f"{len(others) - 1} more"] if len(others) > 1 else []
    return " and ".join([*named, *others[:1], *more])


def _creating(snapshot: Snapshot, waits: Waiting, *, many: bool) -> str:
    have = "have" if many else "has"
    since = f" since {clock(waits.since, snapshot.now)}" if waits.since is not None else ""
    if waits.sandbox:
        return f"{have} been pulling images or creating containers{since}"
    return f"{have} been waiting for volumes and network{since}"


def _crashing(snapshot: Snapshot, pods: Sequence[Pod], waits: Waiting) -> str:
    first, more = pods[0], len(pods) - 1
    others = (
        f", and so do those of {more} more pods" if more > 1 else ", and so does that of another pod" if more else ""
    )
    ended = f": it {causes.exited(waits.exit)}" if waits.exit is not None else ""
    lead = f"kubectl logs {first.name} -c {waits.container} --previous -n {snapshot.job.metadata.namespace}"
    return f"Container {waits.container} of {first.name} {_CRASHES}{others}{ended}; see {lead}"


def _pull_error(snapshot: Snapshot, message: str) -> str:
    """The error itself: during back-off kubelets wrap it, or leave it out."""
    bare = _BACK_OFF.sub("", message, count=1).strip()
    if bare:
        return bare
    before = condition(snapshot.job.status.conditions, WAITING)
    known = before is not None and (before.status, before.reason) == ("True", IMAGE_PULL)
    return _detail(before.message) if before is not None and known else message


def _idle_launcher_job(snapshot: Snapshot) -> LauncherJob | None:
    """A launcher Job that should have a pod and has none."""
    batch = snapshot.observed.launcher_job
    if batch is None or batch.suspended or batch.succeeded or batch.failed or batch.terminating:
        return None
    return None if snapshot.observed.of(snapshot.shape.launcher) else batch


def _of_launcher_job(snapshot: Snapshot, batch: LauncherJob) -> Cause | None:
    trouble = snapshot.observed.troubles.get(batch.uid)
    if trouble is None:
        return None
    namespace = snapshot.job.metadata.namespace
    lead = f"kubectl describe job {snapshot.shape.launcher_name} -n {namespace}"
    return refused(namespace, "The launcher's pod", trouble.message, lead)


def refused(namespace: str, what: str, why: str, lead: str = "") -> Cause:
    """The cause for an object that the API server rejected."""
    why = quoting.lines(why)
    if _QUOTA in why:
        return Cause(QUOTA, _joined(f"{what} cannot be created", why, f"kubectl describe quota -n {namespace}"))
    return Cause(FAILED_CREATE, _joined(f"{what} cannot be created", why, lead))


def _joined(what: str, why: str, lead: str) -> str:
    """What is, why, and what to do next. If the quoted message names a command, no other is added."""
    text = " ".join(why.split()).rstrip(".")
    text = text if len(text) <= _DETAIL else _shortened(text)
    said = f"{what}: {text}" if text else what
    return f"{said}{_SEE}{lead}" if lead and not names_command(text) else said


def _shortened(text: str) -> str:
    """Shortens a message, but never inside a command: half a command is useless. If it does not fit it is left out."""
    commands = list(_WHOLE_COMMAND.finditer(text))
    if commands and commands[0].end() > _DETAIL:
        begins, ends = commands[0].span()
        if (kept := text[text.rfind(". ", 0, begins) + 1 : ends].lstrip()) and len(kept) <= _DETAIL // 2:
            return f"{text[: _DETAIL - len(kept)]}… {kept}"
        if ends - begins <= _DETAIL:
            return f"{text[: _DETAIL - (ends - begins)]}…: {commands[0].group()}"
    cut = next((each.start() for each in commands if each.start() < _DETAIL < each.end()), _DETAIL)
    return f"{text[:cut].rstrip()}…"


def ends_in_command(text: str) -> bool:
    return _ENDS_IN_COMMAND.search(text) is not None


def names_command(text: str) -> bool:
    return _COMMAND.search(text) is not None


def _detail(message: str) -> str:
    """The part of a message after the first colon, without the command."""
    _, _, text = message.partition(": ")
    return text.rpartition(_SEE)[0] or text


# The condition of a cause.


def told(conditions: Conditions, cause: Cause | None, now: datetime) -> Conditions:
    """The conditions with `Waiting` updated. The same cause with other numbers is written only now and then."""
    before = condition(conditions, WAITING)
    if cause is not None and cause.warns:
        if before is not None and _still_stands(before, cause, now):
            return conditions
        return updated(conditions, true(WAITING, cause.reason, cause.sentence), now)
    if not holds(conditions, WAITING):
        return conditions
    return updated(conditions, false(WAITING, "Resolved", "No pod of the job is held up."), now)


def _still_stands(before: Condition, cause: Cause, now: datetime) -> bool:
    """Whether the condition still states this cause; numbers that have changed since a short time are ignored."""
    if is_news(before, cause.reason, cause.message):
        return False
    what, _, _ = cause.message.partition(": ")
    recent = before.last_update_time is not None and now - before.last_update_time < _REFRESH
    return recent and before.message.startswith(what)


def is_news(before: Condition | None, reason: str, message: str) -> bool:
    """Whether this is another cause than the one in the condition, so that an event is due."""
    if before is None or (before.status, before.reason) != ("True", reason):
        return True
    return _identity(reason, before.message) != _identity(reason, message)


def _identity(reason: str, message: str) -> str:
    """The part of a message that stays the same while its numbers change. Last log lines differ from crash to crash."""
    text = message.partition(_CRASHES)[0] if reason == CRASH_LOOP else _detail(message)
    return _NUMBERS.sub("#", text.rstrip("."))


def explained(conditions: Conditions, cause: Cause | None) -> str:
    """The text for the job's explanation: the condition's message if there is one."""
    if cause is None:
        return ""
    said = condition(conditions, WAITING)
    return said.message if cause.warns and said is not None else cause.sentence
