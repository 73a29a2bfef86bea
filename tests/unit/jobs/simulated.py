# SPDX-License-Identifier: Apache-2.0
"""A cluster small enough to be wrong in no interesting way: it does what plans say, and pods live and die as told.

It watches over what must hold at every single write, whoever is interrupted where: see `_guard`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import msgspec

from springtide.api.defaults.mpijob import defaulted
from springtide.api.job import Job
from springtide.api.kinds.conditions import finished
from springtide.api.kinds.replicas import LAUNCHER, WORKER
from springtide.api.kinds.scalers import ScalerStatus
from springtide.api.kinds.status import JobStatus
from springtide.jobs.actions import (
    Action,
    BindScaler,
    Create,
    Delete,
    Event,
    Patch,
    Plan,
    RunScript,
    ScalerEvent,
    ScalerStatusPatch,
    StatusPatch,
)
from springtide.jobs.endings.causes import NODE_LOST
from springtide.jobs.engine import plan
from springtide.jobs.kind import Kind
from springtide.jobs.kinds.mpi.adapter import MPI_KIND
from springtide.jobs.objects import INDEX, ROLE, key_of
from springtide.jobs.observed import (
    FAILED,
    PENDING,
    RUNNING,
    SUCCEEDED,
    Exit,
    Held,
    Key,
    LauncherJob,
    Observed,
    Pod,
    WarningEvent,
)
from springtide.jobs.observed import Settings as OperatorSettings
from springtide.jobs.parts import ssh
from springtide.jobs.reporting import progress
from springtide.jobs.scaling import phases
from springtide.jobs.scaling.scaler import Scaler, ScriptRun
from springtide.jobs.snapshot import Snapshot
from springtide.jobs.snapshot import read as read_situation

NODES = ("node-a", "node-b", "node-c")
TOLERATION = 300
"""Seconds after which pods are evicted from a node that nobody hears of."""
START = datetime(2026, 11, 16, 6, tzinfo=UTC)


class Conflict(Exception):
    """The API server refused, because the plan was made from a stale view: an object is another or is gone."""


@dataclass
class Cluster:
    raw: dict[str, Any]
    settings: OperatorSettings = field(default_factory=OperatorSettings)
    kind: Kind = MPI_KIND
    read: Callable[[Mapping[str, Any]], Job[Any]] = defaulted
    specs: str = "mpiReplicaSpecs"
    """Where the roles are in the spec."""
    workers_key: str = WORKER
    """The key of the workers' role there."""
    over_ssh: bool = False
    """The launcher has a Role that lets it run no commands."""
    decides: str = LAUNCHER
    """The role whose success is the job's."""
    now: datetime = START
    status: JobStatus = field(default_factory=JobStatus)
    objects: dict[Key, dict[str, Any]] = field(default_factory=dict)
    pods: dict[str, Pod] = field(default_factory=dict)
    manifests: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    batch: LauncherJob | None = None
    leaving: frozenset[str] = frozenset()
    cordoned: frozenset[str] = frozenset()
    reclaims: dict[str, datetime] = field(default_factory=dict)
    deleted: bool = False
    events: list[Event] = field(default_factory=list)
    silent: frozenset[str] = frozenset()
    """Nodes that nobody hears of any more."""
    hosts: dict[str, str] = field(default_factory=dict)
    """Names that were ever listed, and the uids of their pods."""
    ranks: dict[str, str] = field(default_factory=dict)
    """Uids of workers, and of the launcher whose ranks are on them."""
    seen: set[str] = field(default_factory=set)
    """Names of pods that an operator has seen alive."""
    reports: dict[str, str] = field(default_factory=dict)
    """What pods that are gone said last, by uid."""
    troubles: dict[str, WarningEvent] = field(default_factory=dict)
    """What events say of objects, by uid."""
    evicts: bool = False
    """So much time has passed that Kubernetes evicts pods from silent nodes."""
    serial: Any = field(default_factory=lambda: count(1))
    version: int = 0
    """Changes of the job itself."""
    scalers: dict[str, Scaler] = field(default_factory=dict)
    """By uid."""
    scripts: dict[str, ScriptRun] = field(default_factory=dict)
    runs: list[RunScript] = field(default_factory=list)
    """Scripts that were started."""
    scaler_events: list[ScalerEvent] = field(default_factory=list)
    capacity: int | None = None
    """Places for workers."""

    # What the operator sees and does.

    def observe(self) -> Observed:
        self.seen |= {pod.name for pod in self.pods.values() if pod.alive}
        metadata = {**self.raw["metadata"], "resourceVersion": str(self.version)}
        raw = {**self.raw, "metadata": metadata, "status": msgspec.to_builtins(self.status)}
        return Observed(
            job=self.read(raw),
            pods=tuple(self.pods.values()),
            objects={key: _held(body) for key, body in self.objects.items()},
            launcher_job=self.batch,
            leaving_nodes=self.leaving,
            cordoned_nodes=self.cordoned,
            reclaims=self.reclaims,
            last_reports=self.reports,
            troubles=self.troubles,
            scalers=tuple(self.scalers.values()),
            scripts=dict(self.scripts),
            settings=self.settings,
        )

    def plan(self) -> Plan:
        return plan(self.observe(), self.kind, self.now)

    def reconcile(self, until: int | None = None) -> Plan:
        """Observe, plan, act; `until` is after how many actions the operator is killed."""
        made = self.plan()
        self.act(made.actions[:until])
        return made

    def act(self, actions: tuple[Action, ...]) -> None:
        for action in actions:
            self.do(action)

    def do(self, action: Action) -> None:
        match action:
            case Create():
                self._create(action)
            case Patch():
                self._patch(action)
            case Delete():
                self._delete(action)
            case StatusPatch():
                new = msgspec.json.decode(msgspec.json.encode(action.status), type=type(self.status))
                _is_legal(self.status, new)
                self.status = new
                self.version += 1
            case Event():
                self.events.append(action)
            case _:
                self._do_to_scaler(action)
        if isinstance(action, Create | Patch):
            self._names_are_of_pods_that_were_seen(_key(action).kind)
        self._guard()

    def _names_are_of_pods_that_were_seen(self, kind: str) -> None:
        """In what is written just now; whoever writes may have looked long ago."""
        names = {"Role": self.rights(), "ConfigMap": {*self.listed(), *self.hostfile()}}.get(kind, set())
        assert names <= self.seen, f"{names - self.seen} in the {kind}: whose pods are they?"

    def _create(self, action: Create) -> None:
        key, uid = key_of(action.manifest), f"uid-{next(self.serial)}"
        if key.kind == "Pod":
            if key.name not in self.pods:
                self._create_pod(action.manifest, key.name, uid)
        elif key.kind == "Job":
            if self.batch is None:
                self.manifests[key.name] = action.manifest
                spec = action.manifest["spec"]
                self.batch = LauncherJob(uid, suspended=spec["suspend"], template=spec["template"])
        elif key not in self.objects:
            complete = ssh.with_keys(action.manifest, b"pem", b"line") if action.secrets else action.manifest
            body = msgspec.json.decode(msgspec.json.encode(complete))
            body["metadata"] |= {"uid": uid, "resourceVersion": str(next(self.serial))}
            self.objects[key] = body
        elif action.must_be_new:
            raise Conflict

    def _create_pod(self, manifest: Mapping[str, Any], name: str, uid: str) -> None:
        labels = manifest["metadata"]["labels"]
        role, index = labels[ROLE], int(labels[INDEX]) if INDEX in labels else None
        self.manifests[name] = manifest
        self.pods[name] = Pod(name, uid, role, index, created=self.now)

    def _patch(self, action: Patch) -> None:
        if not self._has(action.key):
            raise Conflict
        if action.key.kind == "Pod":
            pod = self.pods[action.key.name]
            self.pods[pod.name] = replace(
                pod, annotations=_merged(pod.annotations, action.body["metadata"]["annotations"])
            )
        elif action.key.kind == self.raw["kind"]:
            self._patch_job(action)
        elif action.key.kind == "Job":
            assert self.batch is not None  # it is there
            template = _merged(self.batch.template, action.body["spec"].get("template", {}))
            self.batch = replace(self.batch, suspended=action.body["spec"]["suspend"], template=template)
        else:
            body = self.objects[action.key]
            if action.resource_version not in (None, body["metadata"]["resourceVersion"]):
                raise Conflict
            self.objects[action.key] = _merged(body, msgspec.json.decode(msgspec.json.encode(action.body)))
            self.objects[action.key]["metadata"]["resourceVersion"] = str(next(self.serial))

    def _patch_job(self, action: Patch) -> None:
        if action.resource_version not in (None, str(self.version)) or action.uid != self.raw["metadata"]["uid"]:
            raise Conflict
        self.raw = _merged(self.raw, action.body)
        self.version += 1

    def _has(self, key: Key) -> bool:
        match key.kind:
            case "Pod":
                return key.name in self.pods
            case "Job":
                return self.batch is not None
        return key in self.objects or key.kind == self.raw["kind"]

    def _delete(self, action: Delete) -> None:
        if action.key.kind == "Pod":
            pod = self.pods.get(action.key.name)
            if pod is not None and pod.uid == action.uid:
                named = self.rights("pods/exec") | set(self.listed()) | self.hostfile()
                assert pod.name not in named or not pod.alive, f"{pod.name} is deleted while it can be reached"
                self.vanish(pod.name) if action.grace == 0 or pod.ended else self.terminate(pod.name)
        elif action.key.kind == "Job":
            self.batch = None
            for pod in self.of(LAUNCHER):
                self.vanish(pod.name)
        elif action.key.kind == self.raw["kind"]:
            self.deleted = True
        else:
            self.objects.pop(action.key, None)

    # Scalers.

    def scale(self, kind: str, name: str, **fields: Any) -> str:
        """Creates a scaler; its uid."""
        uid = f"uid-{next(self.serial)}"
        self.scalers[uid] = Scaler(kind, name, uid, str(next(self.serial)), self.now, **fields)
        return uid

    def cancel(self, uid: str) -> None:
        """Deletes a scaler, and whatever its script is about."""
        self.scalers.pop(uid, None)

    def _do_to_scaler(self, action: Action) -> None:
        match action:
            case ScalerStatusPatch():
                self._patch_scaler(action)
            case ScalerEvent():
                self.scaler_events.append(action)
            case BindScaler(scaler):
                self._change_scaler(scaler.uid, bound=True)
            case RunScript():
                self._run(action)

    def _patch_scaler(self, action: ScalerStatusPatch) -> None:
        there = self.scalers.get(action.scaler.uid)
        if there is None or there.resource_version != action.scaler.resource_version:
            raise Conflict
        new = msgspec.json.decode(msgspec.json.encode(action.status), type=ScalerStatus)
        before, after = phases.of(there.status), phases.of(new)
        legal = {phases.TRANSITIONS.get((before, trigger)) for trigger in phases.Trigger}
        assert after in legal, f"a scaler of phase {before.name} becomes {after.name}"
        self._change_scaler(there.uid, status=new)

    def _change_scaler(self, uid: str, **fields: Any) -> None:
        if uid not in self.scalers:
            raise Conflict
        self.scalers[uid] = replace(self.scalers[uid], resource_version=str(next(self.serial)), **fields)

    def _run(self, action: RunScript) -> None:
        known = self.scripts.get(action.scaler)
        if known is None or known.attempt != action.attempt:
            done = phases.of(self.scalers[action.scaler].status) if action.scaler in self.scalers else None
            assert done is not phases.ScalerPhase.SCRIPT_EXECUTED, "a script is run again"
            self.runs.append(action)
            self.scripts[action.scaler] = ScriptRun(action.attempt)

    def script_ends(self, code: int = 0, lines: str = "") -> None:
        """All scripts that run."""
        for uid, ran in self.scripts.items():
            if ran.exit_code is None:
                self.scripts[uid] = replace(ran, exit_code=code, last_lines=lines)

    # What must hold at every write.

    def _guard(self) -> None:
        listed = set(self.listed())
        for name in listed & self.pods.keys():
            uid = self.pods[name].uid
            assert self.hosts.setdefault(name, uid) == uid, f"{name} was a host before"
        alive = {pod.name for pod in self.pods.values() if pod.alive}
        if self.has_role and not self.over_ssh and not self.finished:
            assert listed & alive <= self.rights(), "a host is listed that the launcher must not exec into"
        quiet = not self.of(WORKER) and all(pod.ended for pod in self.of(LAUNCHER))
        if quiet and self.read(self.raw).run.suspend:
            self.hosts.clear()

    # What the world does.

    def of(self, role: str) -> tuple[Pod, ...]:
        return tuple(pod for pod in self.pods.values() if pod.role == role)

    def change(self, name: str, **fields: Any) -> None:
        self.pods[name] = replace(self.pods[name], **fields)

    def terminate(self, name: str) -> None:
        self.change(name, terminating=True)

    def vanish(self, name: str) -> None:
        pod = self.pods.pop(name)
        self.ranks.pop(pod.uid, None)
        if (said := pod.annotations.get(progress.ANNOTATION)) is not None:
            self.reports[pod.uid] = said

    def ready(self, *names: str) -> None:
        """Workers start, if there is a place for them; a launcher starts if it is given hosts."""
        for name in names:
            pod = self.pods[name]
            node = pod.node or self._free_node(pod.role)
            if node and pod.role != LAUNCHER:
                self.change(name, phase=RUNNING, ready=True, node=node, started=self.now)
            elif node:
                self.change(name, node=node)
                self.start_launcher(name)

    def _free_node(self, role: str) -> str:
        """The one with the fewest pods."""
        used = [pod.node for pod in self.pods.values()]
        placed = sum(bool(pod.node) and not pod.ended for pod in self.of(WORKER))
        if role == WORKER and self.capacity is not None and placed >= self.capacity:
            return ""
        free = [node for node in NODES if node not in self.silent | self.leaving]
        return min(free, key=used.count, default="")

    def lose(self, node: str) -> None:
        self.silent |= {node}
        for pod in self._on(node):
            self.change(pod.name, ready=False, reason=NODE_LOST)

    def find(self, node: str) -> None:
        """It is back: what was deleted there ends, the rest was there all the time."""
        self.silent -= {node}
        for pod in self._on(node):
            self.change(pod.name, ready=pod.phase == RUNNING, reason="")

    def _on(self, node: str) -> tuple[Pod, ...]:
        return tuple(pod for pod in self.pods.values() if pod.node == node and not pod.ended)

    def start_launcher(self, name: str) -> None:
        pod = self.pods[name]
        if pod.phase != PENDING or pod.uid not in self.file("hosts_given.sh"):
            return
        self.change(name, phase=RUNNING, ready=True, started=self.now)
        assert all(served == pod.uid for served in self.ranks.values()), "a launcher starts beside older ranks"
        self.spread_ranks()

    def spread_ranks(self) -> None:
        """A launcher that runs has ranks on all hosts it was told of."""
        for launcher in self.of(LAUNCHER):
            if launcher.phase == RUNNING and launcher.uid in self.file("hosts_given.sh"):
                for name in self.listed():
                    if name in self.pods:
                        self.ranks[self.pods[name].uid] = launcher.uid

    def fail(self, name: str, reason: str = "", code: int = 1) -> None:
        self.change(name, phase=FAILED, ready=False, reason=reason, exit=Exit(code, "Error"))
        if self.pods[name].role != LAUNCHER:
            self.ranks.pop(self.pods[name].uid, None)
        elif self.batch is not None:
            self.batch = replace(self.batch, failures=self.batch.failures + 1)

    def succeed(self) -> None:
        """Of whoever decides how the job ends."""
        for pod in self.of(self.decides):
            if pod.alive:
                self.change(pod.name, phase=SUCCEEDED, ready=False, exit=Exit(0, "Completed"))
        if self.batch is not None:
            self.batch = replace(self.batch, succeeded=True, completed=self.now)

    def job_controller(self) -> None:
        """A batch Job keeps one pod alive, unless it is suspended or done."""
        batch, pods = self.batch, self.of(LAUNCHER)
        if batch is None:
            return
        if batch.suspended:
            for pod in pods:
                if pod.alive:
                    self.terminate(pod.name)
        elif batch.failures > self.raw["spec"].get("runPolicy", {}).get("backoffLimit", 6):
            self.batch = replace(batch, failed=True, reason="BackoffLimitExceeded", message="Job has failed")
        elif not batch.succeeded and not batch.failed and not any(not pod.ended for pod in pods):
            uid = f"uid-{next(self.serial)}"
            name = f"{self.raw['metadata']['name']}-launcher-{uid}"
            self.pods[name] = Pod(name, uid, LAUNCHER, created=self.now)

    def tick(self, seconds: int = 0) -> None:
        """Everything that can go well does."""
        self.now += timedelta(seconds=seconds)
        self.evicts = seconds >= TOLERATION
        self.job_controller()
        for pod in tuple(self.pods.values()):
            self.move(pod)
        self.spread_ranks()

    def move(self, pod: Pod) -> None:
        """A pod takes its next step, unless nobody is left on its node to take it: then it is evicted some day."""
        if pod.reason == NODE_LOST and not pod.ended:
            if self.evicts:
                self.terminate(pod.name)
            return
        if pod.terminating:
            self.vanish(pod.name)
        elif pod.phase == PENDING or (pod.phase == RUNNING and not pod.ready):
            self.ready(pod.name)

    def settle(self, seconds: int = 40) -> None:
        """Until nothing changes any more."""
        for _ in range(60):
            before = self._state()
            self.tick(seconds)
            self.reconcile()
            if before == self._state() and not any(self._moves(pod) for pod in self.pods.values()):
                alive = {pod.name for pod in self.pods.values() if pod.alive and not self.finished}
                assert self.rights() <= alive, "somebody may be reached who is no more"
                return
        raise AssertionError("does not converge")

    def _state(self) -> tuple[object, ...]:
        objects = msgspec.json.encode(sorted(map(str, self.objects.items())))
        return dict(self.pods), objects, self.status, self.batch, dict(self.scalers), dict(self.scripts), self.version

    def _moves(self, pod: Pod) -> bool:
        """Nobody waits for a finished job's pods on silent nodes, or for workers without a place."""
        given_up = self.finished and pod.reason == NODE_LOST
        unplaced = pod.role == WORKER and pod.phase == PENDING and not pod.node and not self._free_node(pod.role)
        return (pod.terminating or (pod.phase == PENDING and not unplaced)) and not given_up

    # What tests look at.

    def file(self, name: str) -> str:
        config = next((body for key, body in self.objects.items() if key.kind == "ConfigMap"), None)
        return str(config["data"].get(name, "")) if config else ""

    def listed(self) -> list[str]:
        """Names of pods in the host list."""
        lines = re.findall(r"^echo ([^:.\n]+)", self.file("discover_hosts.sh"), re.MULTILINE)
        return [line for line in lines if "-worker-" in line]

    def hostfile(self) -> set[str]:
        return {name for name in re.findall(r"^[^:. \n]+", self.file("hostfile"), re.MULTILINE) if "-worker-" in name}

    @property
    def has_role(self) -> bool:
        return any(key.kind == "Role" for key in self.objects)

    def rights(self, *resources: str) -> set[str]:
        """Pods in which the launcher may run commands, and its own if it may change it."""
        roles = (body for key, body in self.objects.items() if key.kind == "Role")
        rules = (rule for role in roles for rule in role["rules"] if not resources or rule["resources"] == [*resources])
        return {name for rule in rules for name in rule.get("resourceNames", ())}

    def workers(self) -> list[str]:
        return sorted(pod.name for pod in self.of(WORKER))

    @property
    def size(self) -> int:
        """As the spec asks for it."""
        return int(self.raw["spec"][self.specs][self.workers_key]["replicas"])

    @property
    def snapshot(self) -> Snapshot:
        return read_situation(self.observe(), self.kind, self.now)

    def resize(self, workers: int) -> None:
        self.version += 1
        self.raw["spec"][self.specs][self.workers_key]["replicas"] = workers

    def policy(self, **fields: Any) -> None:
        self.version += 1
        self.raw["spec"]["runPolicy"] = {**self.raw["spec"].get("runPolicy", {}), **fields}

    def launcher(self) -> Pod:
        return next(pod for pod in self.of(LAUNCHER) if pod.alive)

    @property
    def conditions(self) -> dict[str, str]:
        return {each.type: each.status for each in self.status.conditions}

    @property
    def finished(self) -> bool:
        return finished(self.status.conditions)


def _key(action: Create | Patch) -> Key:
    return action.key if isinstance(action, Patch) else key_of(action.manifest)


def _is_legal(old: JobStatus, new: JobStatus) -> None:
    """Whatever was true of a job, only some things may be true next."""
    holds = {each.type for each in new.conditions if each.status == "True"}
    assert len(new.conditions) == len({each.type for each in new.conditions}), "a condition is there twice"
    assert not {"Succeeded", "Failed"} <= holds, "a job cannot both succeed and fail"
    assert not {"Running", "Restarting"} <= holds, "a job that restarts does not run"
    assert "Running" not in holds or not {"Succeeded", "Failed"} & holds, "a finished job does not run"
    assert any(each.type == "Created" for each in new.conditions), "a job was never created"
    if finished(old.conditions):
        assert finished(new.conditions), "a finished job starts over"
        assert new.completion_time == old.completion_time, "a finished job ends again"
    assert (new.completion_time is not None) == finished(new.conditions)
    if old.start_time is not None and new.start_time is not None:
        assert new.start_time >= old.start_time


def _held(body: dict[str, Any]) -> Held:
    return Held(body["metadata"]["uid"], body["metadata"]["resourceVersion"], _answered(body))


def _answered(body: Mapping[str, Any]) -> dict[str, Any]:
    """As kube-apiserver answers: without fields that are false or empty."""
    inner = {name: _answered(value) if isinstance(value, Mapping) else value for name, value in body.items()}
    return {name: value for name, value in inner.items() if value is not False and value not in ({}, [], None)}


def _merged(there: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(there)
    for name, value in patch.items():
        old = result.get(name)
        result[name] = _merged(old, value) if isinstance(value, Mapping) and isinstance(old, Mapping) else value
        if value is None:
            del result[name]
    return result
