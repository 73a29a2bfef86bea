# SPDX-License-Identifier: Apache-2.0
"""The judge: what became of a job and its objects, held against what was done to it. Pure.

A host that cannot be reached is forgiven only where somebody took it away: its pod was killed or deleted, or its node.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tests.crash_jobs.history import Line, Seen
from tests.crash_jobs.jobs import Wanted

from springtide.api.kinds.trainingjob import SUSPENDED_ANNOTATION
from springtide.kube.resources import Obj

ENDINGS = ("Succeeded", "Failed")
ROLE = "springtide.dev/role"
SHUT_DOWN = "Terminated"
"""Why a pod has ended that was stopped with its node, whatever else was done to it."""


@dataclass
class Blows:
    """What was done to jobs on purpose, by uid."""

    pods: set[str] = field(default_factory=set)
    nodes: set[str] = field(default_factory=set)
    """Names of nodes that were drained or reclaimed."""
    stopped: set[str] = field(default_factory=set)
    """Pods that were on the nodes when the cluster was stopped."""
    suspended: set[str] = field(default_factory=set)
    deleted: dict[str, float] = field(default_factory=dict)
    """And when."""

    def took(self, pod: Obj | None) -> bool:
        if pod is None:
            return False
        return pod["metadata"]["uid"] in self.pods | self.stopped or pod["spec"].get("nodeName") in self.nodes


# Single objects


def role(pod: Obj) -> str:
    return str(pod["metadata"]["labels"].get(ROLE, ""))


def phase(pod: Obj) -> str:
    return str((pod.get("status") or {}).get("phase", "Pending"))


def is_alive(pod: Obj) -> bool:
    return phase(pod) not in ENDINGS and "deletionTimestamp" not in pod["metadata"]


def is_ready(pod: Obj) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def owner(obj: Obj) -> str:
    return str((obj["metadata"].get("ownerReferences") or [{}])[0].get("uid", ""))


def holding(job: Obj) -> dict[str, str]:
    """Conditions that hold, and their messages."""
    conditions = (job.get("status") or {}).get("conditions") or ()
    return {each["type"]: each["message"] for each in conditions if each["status"] == "True"}


def hosts(config: Obj) -> list[str]:
    """Names of the pods in the host list."""
    lines = config["data"]["discover_hosts.sh"].splitlines()
    return [line.split()[1].partition(":")[0].partition(".")[0] for line in lines if line.startswith("echo ")]


def _ledger(config: Obj) -> Obj:
    found: Obj = json.loads(config["metadata"]["annotations"].get("springtide.dev/ledger", "{}"))
    return found


def _decisions(config: Obj) -> set[str]:
    lines = json.loads(config["metadata"]["annotations"].get("springtide.dev/decisions", "[]"))
    return {f"{line['reason']}: {line['message']}" for line in lines}


# What to wait for


def lacking(job: Obj, pods: Sequence[Obj], config: Obj | None, size: int | None) -> Iterator[str]:
    """What a job lacks that runs at this size, or, without one, that merely runs; or that is suspended."""
    if is_suspended(job):
        yield from unsuspended(job, pods)
        return
    launchers = [pod for pod in pods if role(pod) == "Launcher" and is_alive(pod)]
    if [phase(pod) for pod in launchers] != ["Running"]:
        told = (job.get("status") or {}).get("explanation")
        yield f"its launchers are {[phase(pod) for pod in launchers]}: {told} {holding(job)}"
    if size is None:
        return
    workers = [pod for pod in pods if role(pod) == "Worker"]
    ready = sorted(pod["metadata"]["name"] for pod in workers if is_alive(pod) and is_ready(pod))
    used = _used(job, config, size)
    if len(workers) != max(size, used) or len(ready) != max(size, used):
        shown = {pod["metadata"]["name"]: phase(pod) for pod in workers}
        yield f"{len(ready)} of {size} workers are ready among {shown}, {used} are in use"
    listed = sorted(hosts(config)) if config else []
    if listed != ready:
        yield f"listed are {listed}, ready are {ready}"
    status = job.get("status") or {}
    if (status.get("state"), status.get("workers")) != ("Running", f"{used}/{size}"):
        yield f"its status is {status.get('state')} {status.get('workers')}: {status.get('explanation')}"


def is_suspended(job: Obj) -> bool:
    annotated = job["metadata"].get("annotations", {}).get(SUSPENDED_ANNOTATION) == "true"
    return annotated or bool(job["spec"].get("runPolicy", {}).get("suspend"))


def unsuspended(job: Obj, pods: Sequence[Obj]) -> Iterator[str]:
    if pods or "Suspended" not in holding(job):
        yield f"is to be suspended, and has {len(pods)} pods and {sorted(holding(job))}"


def _used(job: Obj, config: Obj | None, size: int) -> int:
    """Workers that train: a launcher that is not elastic keeps those it was started with."""
    if "SizeDeferred" not in holding(job) or config is None:
        return size
    ledger = _ledger(config)
    return len({*ledger.get("started_with", ())} & {*ledger.get("members", ())})


def unfinished(wanted: Wanted, job: Obj, pods: Sequence[Obj]) -> Iterator[str]:
    ended = [each for each in holding(job) if each in ENDINGS]
    if len(ended) != 1:
        yield f"has not ended: {holding(job)}"
        return
    alive = [pod["metadata"]["name"] for pod in pods if phase(pod) not in ENDINGS]
    left = {"All": [pod["metadata"]["name"] for pod in pods], "Running": alive}.get(wanted.clean, [])
    if left:
        yield f"{left} are still there although {wanted.clean} pods were to be cleaned"


def may_have_failed(wanted: Wanted, job: Obj) -> bool:
    """Whether it is one of those that fail with their launcher, and has."""
    return wanted.retries == 0 and "Failed" in holding(job)


# What became of it


def judge(wanted: Wanted, seen: Sequence[Seen], lines: Sequence[Line], blows: Blows) -> list[str]:
    faults = list(judge_jobs(wanted, seen, blows))
    tracing = Tracing(wanted, blows)
    faults += tracing.faults(seen)
    faults += tracing.unexplained()
    faults += judge_accounts(seen, lines, blows)
    return list(dict.fromkeys(faults))


def judge_jobs(wanted: Wanted, seen: Sequence[Seen], blows: Blows) -> Iterator[str]:
    """The statuses of all jobs there were of this name, and how the last one ended."""
    kind = wanted.resource.kind
    uids = list(dict.fromkeys(each.uid for each in seen if each.kind == kind))
    for uid in uids:
        yield from judge_statuses([each.object for each in seen if each.kind == kind and each.uid == uid])
    if uids:
        yield from judge_outcome(wanted, uids[-1], seen, blows)


def judge_statuses(states: Sequence[Obj]) -> Iterator[str]:
    """One after the other, from the job's creation."""
    before: dict[str, str] = {}
    for job in states:
        status, now = job.get("status") or {}, holding(job)
        conditions = [each["type"] for each in status.get("conditions") or ()]
        if conditions and "Created" not in conditions:
            yield f"{conditions} without Created"
        if len(conditions) != len(set(conditions)):
            yield f"{conditions}: one comes twice"
        for one, other in (("Running", "Restarting"), ("Running", "Suspended"), ENDINGS):
            if one in now and other in now:
                yield f"both {one} and {other}"
        for ending in ENDINGS:
            if ending in before and ending not in now:
                yield f"{ending} does not hold any more"
            if ending in now and "Running" in now:
                yield f"Running after {ending}"
            if ending in now and not status.get("completionTime"):
                yield f"{ending} without a time"
        before = now


def judge_outcome(wanted: Wanted, uid: str, seen: Sequence[Seen], blows: Blows) -> Iterator[str]:
    """It fails if its launcher, or a replica of a kind without one, was killed and has no other try. One that was
    deleted may have ended badly for that, and then counts as well, if its end was seen."""
    last = [each.object for each in seen if each.kind == wanted.resource.kind and each.uid == uid][-1]
    killed = [
        each
        for each in seen
        if each.kind == "Pod" and owner(each.object) == uid and (wanted.named or role(each.object) == "Launcher")
        if phase(each.object) == "Failed" and each.uid in blows.pods
        if each.object["status"].get("reason") != SHUT_DOWN
    ]
    certain = [each for each in killed if not each.leaves and each.object["spec"].get("nodeName") not in blows.nodes]
    must = wanted.retries == 0 and bool(certain)
    now = holding(last)
    if "Failed" in now and not (wanted.retries == 0 and killed):
        yield f"has failed although what failed may be tried again: {now['Failed']}"
    if "Failed" in now and certain and "137" not in now["Failed"]:
        yield f"does not say how its launcher ended: {now['Failed']}"
    if must and "Failed" not in now:
        yield f"{certain[0].name} was killed and is not to be tried again, but it is {sorted(now)}"


class Tracing:
    """The order of writes: who is listed when, who may be reached when, and which names come again."""

    def __init__(self, wanted: Wanted, blows: Blows) -> None:
        self._wanted, self._blows = wanted, blows
        self._pods: dict[str, Obj] = {}
        self._there: set[str] = set()
        """Names of all pods there ever were."""
        self._roles: dict[str, Obj] = {}
        self._configs: dict[str, Obj] = {}
        self._ended: set[str] = set()
        self._failed: set[str] = set()
        self._lost: dict[str, Obj] = {}
        """Workers that were hosts and are no more, by uid."""
        self._said: dict[str, set[str]] = {}
        """What is in the logs of jobs."""
        self._used: dict[tuple[str, str], str] = {}
        """The uid of the pod that a name stands for, by launcher and name."""

    def faults(self, seen: Sequence[Seen]) -> Iterator[str]:
        reading = {"Pod": self._pod, "ConfigMap": self._config, "Role": self._role}
        reading[self._wanted.resource.kind] = self._job
        for each in seen:
            if each.kind in reading:
                yield from (f"{fault} (at {each.version})" for fault in reading[each.kind](each))

    def unexplained(self) -> Iterator[str]:
        """Why a host was replaced is in the job's own log, unless all of them were or the job has no need of hosts any
        more: one that has failed may have lost it when its launcher was dead already."""
        for uid, pod in self._lost.items():
            job, name = owner(pod), pod["metadata"]["name"]
            said = self._said.get(job, set())
            if uid not in self._blows.pods or job in self._failed | self._blows.suspended | self._blows.deleted.keys():
                continue
            if not any(name in line or line.startswith("WorkersRenewed") for line in said):
                yield f"nothing was said of why {name} was replaced"

    def _job(self, each: Seen) -> Iterator[str]:
        if each.leaves or set(ENDINGS) & holding(each.object).keys():
            self._ended.add(each.uid)
        if "Failed" in holding(each.object):
            self._failed.add(each.uid)
        yield from ()

    def _config(self, each: Seen) -> Iterator[str]:
        uid, config = owner(each.object), each.object
        if each.leaves:
            self._configs.pop(uid, None)
            return
        before = hosts(self._configs[uid]) if uid in self._configs else []
        self._configs[uid] = config
        listed, serves = hosts(config), str(_ledger(config).get("serves", ""))
        self._said.setdefault(uid, set()).update(_decisions(config))
        if len(listed) != len(set(listed)) or (self._wanted.most and len(listed) > self._wanted.most):
            yield f"{listed} are listed, at most {self._wanted.most} may be"
        for name in listed:
            pod = self._pods.get(name)
            serves_now = pod is not None and is_ready(pod) and is_alive(pod)
            if name not in before and not serves_now and not self._blows.took(pod):
                yield f"{name} is listed and not ready: {pod and pod.get('status')}"
            if (
                pod is not None
                and self._used.setdefault((serves, name), pod["metadata"]["uid"]) != pod["metadata"]["uid"]
            ):
                yield f"{name} was listed for {serves} before, and is another pod now"
        yield from self._unreachable(uid)

    def _role(self, each: Seen) -> Iterator[str]:
        uid = owner(each.object)
        if each.leaves:
            self._roles.pop(uid, None)
            return
        before = self._reachable(uid)
        self._roles[uid] = each.object
        if unseen := sorted(self._reachable(uid) - before - self._there):
            yield f"the Role names {unseen} before there was such a pod"
        yield from self._unreachable(uid)

    def _unreachable(self, uid: str) -> Iterator[str]:
        if self._wanted.over_ssh or uid in self._ended or uid in self._blows.deleted or uid not in self._configs:
            return
        alive = {name for name, pod in self._pods.items() if is_alive(pod)}
        if strangers := sorted(set(hosts(self._configs[uid])) & alive - self._reachable(uid)):
            yield f"{strangers} are listed and the Role does not name them"

    def _reachable(self, uid: str) -> set[str]:
        rules = self._roles[uid]["rules"] if uid in self._roles else []
        return {name for rule in rules if "pods/exec" in rule["resources"] for name in rule["resourceNames"]}

    def _pod(self, each: Seen) -> Iterator[str]:
        before, uid = self._pods.get(each.name), owner(each.object)
        first = each.leaves and not (before and "deletionTimestamp" in before["metadata"])
        self._pods[each.name] = each.object
        self._there.add(each.name)
        if not is_alive(each.object) and uid not in self._ended and each.uid in self._used.values():
            self._lost[each.uid] = each.object
        if each.gone:
            del self._pods[each.name]
        if not first or role(each.object) != "Worker" or self._blows.took(each.object):
            return
        if uid in self._ended or uid in self._blows.deleted or uid not in self._configs:
            return
        if each.name in hosts(self._configs[uid]):
            yield f"{each.name} was deleted while it was listed"
        if each.name in self._reachable(uid):
            yield f"{each.name} was deleted while the Role named it"


def judge_accounts(seen: Sequence[Seen], lines: Sequence[Line], blows: Blows) -> Iterator[str]:
    """What launchers saw of their hosts, as long as their jobs were there."""
    owners = {each.uid: owner(each.object) for each in seen if each.kind in ("Pod", "Job")}
    taken = {each.name for each in seen if each.kind == "Pod" and blows.took(each.object)}
    for line in lines:
        what, made_by = line.what, owners.get(line.launcher, "")
        job = owners.get(made_by, made_by)  # that of a batch Job
        if what["at"] >= blows.deleted.get(job, what["at"] + 1):
            continue
        if "beside" in what:
            yield f"launcher {line.launcher} starts on {what['beside']} beside {what['ranks']}"
        if "refused" in what:
            yield f"launcher {line.launcher} may not say how far it is: {what['refused']}"
        if "lost" in what and what["listed"] and what["lost"].partition(".")[0] not in taken:
            yield f"launcher {line.launcher} cannot reach {what['lost']}: {what['why']}"
