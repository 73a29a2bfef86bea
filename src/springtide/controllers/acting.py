# SPDX-License-Identifier: Apache-2.0
"""Executes a plan's actions in order; what does not depend on each other at once.

Pods of a job are created concurrently, and so are its Services, together with the config object that is written after
them: nothing depends on a Service before a pod exists, and one that a stale plan created is deleted by the next plan.

The first error stops the execution, and the next plan continues. A rejected pod, by a quota for instance, does not stop
it: later actions may free the capacity. Every response of the API server is put into the cache, so that the next plan
sees this one's changes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, Final

from msgspec.structs import replace

from springtide.api.kinds.conditions import condition
from springtide.api.kinds.status import JobStatus
from springtide.controllers import keys, refusals
from springtide.controllers.background import Background
from springtide.controllers.caches import Caches
from springtide.controllers.job_keys import JobKey
from springtide.controllers.metrics import Metrics
from springtide.controllers.scalers.acting import ScalerExecutor
from springtide.controllers.status_patches import status_patch
from springtide.controllers.views import JobView
from springtide.jobs import host_list
from springtide.jobs.actions import (
    Action,
    BindScaler,
    Create,
    Delete,
    Event,
    Inquire,
    Patch,
    RequeueAfter,
    RunScript,
    ScalerEvent,
    ScalerStatusPatch,
    Secrets,
    StatusPatch,
)
from springtide.jobs.objects import key_of
from springtide.jobs.observed import Key as Name
from springtide.jobs.parts import ssh
from springtide.jobs.reporting import quoting, wait_causes
from springtide.jobs.reporting.state_name import StateName
from springtide.kube import errors, request
from springtide.kube.client import Client
from springtide.kube.controller import Result
from springtide.kube.events import EventRecorder
from springtide.kube.informer import Informer
from springtide.kube.request import NO_QUERY, DeleteOptions
from springtide.kube.request import Patch as PatchKind
from springtide.kube.resources import Key, Obj

TAKEN_RETRY: Final = 30.0
"""Seconds; the deletion of an object without our label is not observed."""
REMAINS_RETRY: Final = 2.0
"""Seconds; objects left of an earlier job of the same name are being deleted."""
SHARED_SECONDS: Final = 60.0
"""How long an object of others that a job uses counts as existing: its deletion is not observed, either."""
_AT_ONCE: Final = 16
"""Writes for one job that are made concurrently."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The job that a plan is for."""

    kind: str
    key: Key
    uid: str
    reference: Mapping[str, str]
    """The reference in events."""
    version: str = ""
    """The resourceVersion that was observed."""

    @property
    def job(self) -> JobKey:
        return JobKey(self.kind, self.key.namespace, self.key.name)

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> Subject:
        metadata = raw["metadata"]
        reference = {"apiVersion": raw["apiVersion"], "kind": raw["kind"]}
        reference |= {name: metadata[name] for name in ("namespace", "name", "uid", "resourceVersion")}
        return cls(raw["kind"], Key.of(raw), metadata["uid"], reference, metadata["resourceVersion"])


class Executor:
    """Executes plans for jobs of one kind: all writes to the cluster."""

    def __init__(
        self,
        client: Client,
        caches: Caches,
        jobs: Informer[JobView],
        recorder: EventRecorder,
        background: Background,
        metrics: Metrics,
    ) -> None:
        self._client, self._caches, self._jobs = client, caches, jobs
        self._recorder, self._background, self._metrics = recorder, background, metrics
        self._scalers = ScalerExecutor(client, caches.scalers, recorder, background.scripts)
        self._shared: dict[tuple[str, Name], float] = {}
        """Objects of others that jobs use, by uid of the job, and until when they need not be looked at again."""

    def forget(self, job: JobKey) -> None:
        """The job is gone, or no longer needs events to be looked up."""
        self._background.inquirer.forget(job)

    async def act(self, subject: Subject, old: JobStatus, actions: Sequence[Action]) -> Result | None:
        refused: list[refusals.Refused] = []
        for batch in _batches(actions):
            if _makes_pods(batch[0]):
                refused += await self._create_pods(subject, old, batch)
            elif len(batch) > 1:
                await self._write_together(subject, old, batch)
            else:
                await self._do(subject, old, batch[0], refused)
        wait = next((each.delay.total_seconds() for each in actions if isinstance(each, RequeueAfter)), None)
        if not refused:
            return None if wait is None else Result(requeue_after=wait)
        if not any(isinstance(each, StatusPatch) for each in actions):
            await self._write_status(subject, old, refusals.without(old, old, refused))
        raise refusals.until(refusals.first_taken(refused) or refused[0].refusal, wait)

    async def _do(self, subject: Subject, old: JobStatus, action: Action, refused: Sequence[refusals.Refused]) -> None:
        match action:
            case Create() as create:
                await self._create_or_tell(subject, old, create)
            case Patch() as patch:
                await self._patch(subject, patch)
            case Delete() as delete:
                await self._delete(subject, delete)
            case Event(kind, reason, message):
                self._recorder.record(subject.reference, kind, reason, quoting.bounded(message))
            case StatusPatch(status):
                await self._write_status(subject, old, refusals.without(old, status, refused))
            case Inquire(_, uid):
                self._background.inquirer.ask(subject.job, uid)
            case BindScaler() | RunScript() | ScalerEvent() | ScalerStatusPatch():
                await self._scalers.do(subject.job, subject.reference, action)

    async def _create_pods(self, subject: Subject, old: JobStatus, creates: Sequence[Action]) -> list[refusals.Refused]:
        """The pods that were rejected."""
        pods = [each for each in creates if isinstance(each, Create)]
        done = await asyncio.gather(*(self._create(subject, each) for each in pods), return_exceptions=True)
        refused = []
        for create, failure in zip(pods, done, strict=True):
            if isinstance(failure, errors.ApiError | refusals.Taken) and refusals.is_refusal(failure):
                refused.append(refusals.Refused(create, failure))
            elif failure is not None:
                raise failure
        self._tell(subject, old, refused)
        return refused

    def _tell(self, subject: Subject, old: JobStatus, refused: Sequence[refusals.Refused]) -> None:
        """Records an event once: a name stays taken, and a quota exhausted, until a user reacts."""
        taken = refusals.first_taken(refused)
        if taken is not None and host_list.is_news(old, str(taken)):
            self._recorder.record(subject.reference, "Warning", taken.reason, str(taken))
        cause, before = refusals.first_cause(refused), condition(old.conditions, wait_causes.WAITING)
        if cause is not None and wait_causes.is_news(before, cause.reason, cause.message):
            self._recorder.record(subject.reference, "Warning", cause.reason, quoting.bounded(cause.sentence))

    async def _create_or_tell(self, subject: Subject, old: JobStatus, create: Create) -> None:
        """Creates an object that all later actions need."""
        try:
            await self._create(subject, create)
        except (errors.ApiError, refusals.Taken) as refusal:
            if not refusals.is_refusal(refusal):
                raise
            await self._hold_up(subject, old, refusals.Refused(create, refusal))

    async def _write_together(self, subject: Subject, old: JobStatus, actions: Sequence[Action]) -> None:
        """Services and the config object. An error other than a rejection comes first: it may mean that the plan was
        made from a stale view."""
        writes = (
            self._create(subject, each) if isinstance(each, Create) else self._do(subject, old, each, ())
            for each in actions
        )
        done = await asyncio.gather(*writes, return_exceptions=True)
        refused = []
        for action, failure in zip(actions, done, strict=True):
            if (
                isinstance(action, Create)
                and isinstance(failure, errors.ApiError | refusals.Taken)
                and refusals.is_refusal(failure)
            ):
                refused.append(refusals.Refused(action, failure))
            elif failure is not None:
                raise failure
        if refused:
            await self._hold_up(subject, old, refused[0])

    async def _hold_up(self, subject: Subject, old: JobStatus, found: refusals.Refused) -> None:
        """All later actions need the rejected object: the status states only that, and the plan ends."""
        self._tell(subject, old, [found])
        held_up = replace(old, state=old.state or StateName.CREATED.value)
        await self._write_status(subject, old, refusals.without(old, held_up, [found]))
        raise refusals.until(found.refusal, None) from found.refusal

    async def _create(self, subject: Subject, create: Create) -> None:
        if self._is_known(subject, create):
            return
        manifest = _complete(create)
        informer = self._informer(manifest["apiVersion"], manifest["kind"])
        try:
            answer = await self._client.raw(request.create(informer.resource, manifest, None, "", NO_QUERY))
        except errors.AlreadyExists:
            await self._adopt(subject, informer, create)
            if create.must_be_new:
                raise
        else:
            informer.absorb(answer.body)

    async def _adopt(self, subject: Subject, informer: Informer[Any], create: Create) -> None:
        """An existing object that belongs to the job counts as created: an earlier response was lost. So does one of
        others that may be shared."""
        manifest = dict(create.manifest)
        found = await self._client.get(informer.resource, Key.of(manifest))
        metadata = found["metadata"]
        owner: Obj = next((each for each in metadata.get("ownerReferences") or () if each.get("controller")), {})
        if owner.get("uid") == subject.uid:
            labels = {"uid": metadata["uid"], "labels": manifest["metadata"]["labels"]}
            await self._send_patch(informer, Key.of(manifest), {"metadata": labels})
            return
        name, kind = manifest["metadata"]["name"], manifest["kind"]
        if (owner.get("kind"), owner.get("name")) == (subject.kind, subject.key.name):
            raise refusals.Taken(
                host_list.REMAINS,
                host_list.remains(subject.kind, {f"{kind} {name}": None}, datetime.now(UTC)),
                REMAINS_RETRY,
            )
        if create.shared and set(create.shared) <= set(found.get("data") or {}):
            self._remember(subject, create)
            return
        raise refusals.Taken(host_list.EXISTS, host_list.exists(kind, name, subject.kind), TAKEN_RETRY)

    def _is_known(self, subject: Subject, create: Create) -> bool:
        """An object of others has no label of the job, so caches do not hold it and every plan would create it."""
        return bool(create.shared) and self._shared.get((subject.uid, key_of(create.manifest)), 0.0) > time.monotonic()

    def _remember(self, subject: Subject, create: Create) -> None:
        now = time.monotonic()
        self._shared = {known: until for known, until in self._shared.items() if until > now}
        self._shared[subject.uid, key_of(create.manifest)] = now + SHARED_SECONDS

    async def _patch(self, subject: Subject, patch: Patch) -> None:
        body = dict(patch.body)
        known = {"resourceVersion": patch.resource_version, "uid": patch.uid}
        if meant := {name: value for name, value in known.items() if value is not None}:
            body["metadata"] = {**(body.get("metadata") or {}), **meant}
        await self._send_patch(self._named(subject, patch.key), _key(subject, patch.key), body)

    async def _send_patch(self, informer: Informer[Any], key: Key, body: Obj) -> None:
        wanted = request.patch(informer.resource, key, body, PatchKind.MERGE, "", NO_QUERY)
        informer.absorb((await self._client.raw(wanted)).body)

    async def _delete(self, subject: Subject, delete: Delete) -> None:
        informer = self._named(subject, delete.key)
        options = DeleteOptions(propagation="Background", grace=delete.grace, uid=delete.uid)
        try:
            answer = await self._client.raw(request.delete(informer.resource, _key(subject, delete.key), options))
        except (errors.NotFound, errors.Conflict):
            return  # gone, or replaced by another of the same name
        if b'"kind":"Status"' not in answer.body[:64]:
            informer.absorb(answer.body)

    async def _write_status(self, subject: Subject, old: JobStatus, new: JobStatus) -> None:
        """Rejected if the job has changed since it was observed: the decision may be wrong now, and a new job of the
        same name must not get the old one's outcome."""
        if new == old:
            return
        known = {"resourceVersion": subject.version}
        await self._patch_status(subject, {"metadata": known, "status": status_patch(old, new)})
        self._metrics.told(subject.kind, subject.key, old, new)

    async def _patch_status(self, subject: Subject, body: Obj) -> None:
        wanted = request.patch(self._jobs.resource, subject.key, body, PatchKind.MERGE, "status", NO_QUERY)
        self._jobs.absorb((await self._client.raw(wanted)).body)

    def _named(self, subject: Subject, name: Name) -> Informer[Any]:
        if name.kind == subject.kind:
            return self._jobs
        return self._informer(name.api_version, name.kind)

    def _informer(self, api_version: str, kind: str) -> Informer[Any]:
        return self._caches.named(api_version, kind)


def _batches(actions: Iterable[Action]) -> Iterator[Sequence[Action]]:
    """Consecutive creations of pods form batches, and so do those of Services with the write of the config object; all
    other actions stay single."""
    for together, found in groupby(actions, key=_group):
        each = list(found)
        size = _AT_ONCE if together else 1
        yield from (each[start : start + size] for start in range(0, len(each), size))


def _group(action: Action) -> str:
    """What consecutive actions have in common that do not depend on each other; empty: they may."""
    match action:
        case Create(manifest={"kind": "Pod"}):
            return "pods"
        case Create(manifest={"kind": "Service" | "ConfigMap"}) | Patch(key=Name(kind="ConfigMap")):
            return "names and ledger"
    return ""


def _makes_pods(action: Action) -> bool:
    return isinstance(action, Create) and action.manifest["kind"] in ("Pod", "Job")


def _complete(create: Create) -> Obj:
    if create.secrets is Secrets.SSH_KEYS:
        return ssh.with_keys(create.manifest, *keys.key_pair())
    return dict(create.manifest)


def _key(subject: Subject, name: Name) -> Key:
    return Key(subject.key.namespace, name.name)
