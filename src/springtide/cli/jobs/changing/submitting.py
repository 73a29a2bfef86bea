# SPDX-License-Identifier: Apache-2.0
"""Submitting a job: what is written, in which order, and what is taken back if it fails.

    1. The job must not exist, nor its ConfigMap, nor any other object that is to be made for it.
    2. The ConfigMap is created. It names all objects of the job: whatever happens from here on, `delete` finds them.
    3. The objects are created, the job last; then it becomes the owner of all others, which are deleted with it.

No object is ever changed or deleted that was there before. If the program dies between two steps, the ConfigMap remains
and a second submission says that the job has to be deleted first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from springtide.cli.errors import Failure
from springtide.cli.jobs import object_lines
from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.request import DeleteOptions, Patch
from springtide.kube.resources import CONFIGMAPS, Key, Obj, Resource
from springtide.manifests.bookkeeping import owner_reference, reference
from springtide.manifests.last_applied import with_last_applied
from springtide.messages import text
from springtide.views.trainers import Trainer

MANAGER: Final = {"fieldManager": "kubectl-client-side-apply"}
"""What kubectl and Arena write is theirs: a later `kubectl apply` owns the same fields."""
Report = Callable[[str, str], None]
"""Told of every object that was written, as `secret/a`, and how: created, labeled."""


class JobExists(Failure):
    def __init__(self, name: str) -> None:
        hint = text("delete it first, or choose another name: {command}", command=f"tide delete {name}")
        super().__init__(text("The job {name} exists.", name=name), hint=hint)
        self.name = name


class LeftOver(Failure):
    """A ConfigMap without its job: a submission was interrupted, or is in progress."""

    def __init__(self, name: str, config_map: str, type_name: str) -> None:
        what = text(
            "The job {name} exists in part: there is its ConfigMap {config_map}.", name=name, config_map=config_map
        )
        cause = text("an earlier submission was interrupted, or another one is in progress")
        hint = text("delete what is left of it: {command}", command=f"tide delete {name} --type {type_name}")
        super().__init__(what, cause, hint)
        self.name, self.config_map = name, config_map


class NameTaken(Failure):
    """Another's object has the name of one that is to be made."""

    def __init__(self, line: str) -> None:
        what = text("{object} exists, and is not of this job.", object=line)
        super().__init__(what, hint=text("delete it if nothing needs it, or choose another name for the job"))
        self.line = line


@dataclass(frozen=True, slots=True)
class Plan:
    trainer: Trainer
    config_map: Obj
    objects: Sequence[Obj]
    """In the order in which they are created; the job is the last one."""

    @property
    def key(self) -> Key:
        return Key.of(self.objects[-1])


@dataclass(slots=True)
class _Written:
    """What this submission has created, the newest last."""

    found: list[tuple[Resource, Obj]] = field(default_factory=list)

    async def create(self, client: Client, obj: Obj) -> Obj:
        resource = object_lines.resource_of(obj)
        try:
            created = await client.create(resource, obj, query=MANAGER)
        except errors.AlreadyExists:
            raise NameTaken(reference(obj)) from None
        self.found.append((resource, created))
        return created

    async def take_back(self, client: Client) -> None:
        for resource, obj in reversed(self.found):
            try:
                await client.delete(resource, Key.of(obj), DeleteOptions("Background", uid=obj["metadata"]["uid"]))
            except (errors.NotFound, errors.Conflict):
                continue  # deleted already, perhaps with another one of the same name in its place


async def check(client: Client, plan: Plan) -> None:
    """JobExists, LeftOver, NameTaken."""
    *beside, job = plan.objects
    if await client.find(object_lines.resource_of(job), plan.key) is not None:
        raise JobExists(plan.key.name)
    await _check_config_map(client, plan)
    for obj in beside:
        resource = object_lines.resource_of(obj)
        found = await client.find(resource, Key.of(obj))
        if found is not None and not await _collected(client, plan, found):
            raise NameTaken(reference(obj))


async def submit(client: Client, plan: Plan, report: Report, undone: Callable[[], None]) -> Obj:
    """The created job. Told `undone` when everything was deleted again because of an error."""
    written = _Written()
    keep = False
    try:
        await _create_config_map(client, plan, written)
        config_map = reference(plan.config_map)
        report(config_map, "created")
        report(config_map, "labeled")
        for obj in plan.objects:
            created = await written.create(client, with_last_applied(obj))
            report(reference(obj), "created")
        keep = True
    except errors.Unreachable:
        keep = True  # the request that was not answered may have been carried out: `delete` needs the ConfigMap
        raise
    finally:
        if not keep and written.found:
            await written.take_back(client)
            undone()
    await own(client, created, [pair for pair in written.found if pair[1] is not created])
    return created


async def own(client: Client, owner: Obj, owned: Sequence[tuple[Resource, Obj]]) -> None:
    """Makes the job the owner of other objects, which are deleted with it."""
    for resource, obj in owned:
        uid = {"op": "test", "path": "/metadata/uid", "value": obj["metadata"]["uid"]}
        add = {"op": "add", "path": "/metadata/ownerReferences", "value": [owner_reference(owner)]}
        await client.patch(resource, Key.of(obj), [uid, add], Patch.JSON)


async def _check_config_map(client: Client, plan: Plan) -> None:
    name = plan.config_map["metadata"]["name"]
    found = await client.find(CONFIGMAPS, Key(plan.key.namespace, name))
    if found is not None and not await _collected(client, plan, found):
        raise LeftOver(plan.key.name, name, plan.trainer.name)


async def _create_config_map(client: Client, plan: Plan, written: _Written) -> None:
    try:
        await written.create(client, plan.config_map)
    except NameTaken:  # another submission was faster
        raise LeftOver(plan.key.name, plan.config_map["metadata"]["name"], plan.trainer.name) from None


async def _collected(client: Client, plan: Plan, obj: Obj) -> bool:
    """Whether the object was one of an earlier job of this name. Such objects are deleted with their job, but not at
    once: then it is done here."""
    kind, name = plan.objects[-1]["kind"], plan.key.name
    owners = obj["metadata"].get("ownerReferences") or ()
    if not any((each["kind"], each["name"], each.get("controller")) == (kind, name, True) for each in owners):
        return False
    resource = object_lines.resource_of(obj)
    with suppress(errors.NotFound):
        await client.delete(resource, Key.of(obj), DeleteOptions("Background", uid=obj["metadata"]["uid"]))
    return True
