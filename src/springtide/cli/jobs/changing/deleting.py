# SPDX-License-Identifier: Apache-2.0
"""Deleting a job with everything that was made for it.

The ConfigMap beside the job names its objects; it is deleted last, so that an interrupted deletion can be repeated. A
job that was made without one, with kubectl for instance, is deleted alone. An object that another one controls is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from springtide.cli.errors import ExitCode, Failure
from springtide.cli.jobs import finding, object_lines
from springtide.cli.jobs.finding import Job
from springtide.cli.jobs.users import Isolation
from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.request import DeleteOptions
from springtide.kube.resources import CONFIGMAPS, Key, Obj, Resource
from springtide.messages import text
from springtide.views.trainers import TRAINERS, Trainer, of_job


class NotYours(Failure):
    """The job of another user, in a namespace where users only see their own."""

    def __init__(self, name: str) -> None:
        what = text("The job {name} is another user's.", name=name)
        super().__init__(what, text("users of this namespace are separated"), code=ExitCode.NO_RIGHTS)


@dataclass(frozen=True, slots=True)
class Present:
    """What there is of a job: itself, its ConfigMap, or both."""

    trainer: Trainer
    key: Key
    found: Job | None
    config_map: Obj | None


async def present(client: Client, namespace: str, name: str, trainer: Trainer | None = None) -> list[Present]:
    """All jobs of this name, and what is left of jobs."""
    found = await finding.named(client, namespace, name, trainer.name if trainer else "")
    jobs = {of_job(each.obj).name: each for each in found}
    everything = []
    for each in TRAINERS if trainer is None else (trainer,):
        config_map = await client.find(CONFIGMAPS, Key(namespace, f"{name}-{each.name}"))
        if config_map is not None and "app" not in (config_map.get("data") or {}):
            config_map = None  # another's, with a name that looks like it
        if each.name in jobs or config_map is not None:
            everything.append(Present(each, Key(namespace, name), jobs.get(each.name), config_map))
    return everything


def check_owner(isolation: Isolation, there: Present) -> None:
    """NotYours."""
    owned = there.found.obj if there.found else there.config_map
    if owned is not None and not isolation.shows(owned):
        raise NotYours(there.key.name)


async def delete(client: Client, there: Present) -> None:
    for resource, key in await _objects(client, there):
        await _delete(client, resource, key, there.found)
    if there.config_map is not None:
        metadata = there.config_map["metadata"]
        await _removed(client, CONFIGMAPS, Key.of(there.config_map), metadata["uid"])


async def _objects(client: Client, there: Present) -> Sequence[tuple[Resource, Key]]:
    """The job comes first: its pods end while the rest is deleted."""
    objects = [(there.found.resource, there.found.key)] if there.found else []
    lines = ((there.config_map or {}).get("data") or {}).get("app", "").splitlines()
    for line in lines:
        named = await object_lines.read(client, line, there.key.namespace)
        if named is not None and named not in objects:
            objects.append(named)
    return objects


async def _delete(client: Client, resource: Resource, key: Key, job: Job | None) -> None:
    obj = await client.find(resource, key)
    if obj is None:
        return
    controller = next((each for each in obj["metadata"].get("ownerReferences") or () if each.get("controller")), None)
    if controller is None or controller["name"] == key.name or (job and controller["uid"] == job.uid):
        await _removed(client, resource, key, obj["metadata"]["uid"])


async def _removed(client: Client, resource: Resource, key: Key, uid: str) -> None:
    try:
        await client.delete(resource, key, DeleteOptions("Background", uid=uid))
    except (errors.NotFound, errors.Conflict):
        return  # deleted already, perhaps with another one of the same name in its place
