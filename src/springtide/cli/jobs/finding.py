# SPDX-License-Identifier: Apache-2.0
"""Jobs of all kinds: one by its name, or all of a namespace. One request per kind.

A name alone may be that of several jobs, of different kinds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from springtide.cli.errors import ExitCode, Failure
from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.request import Scope
from springtide.kube.resources import PODS, Key, Obj, Resource
from springtide.messages import text
from springtide.views import trainers
from springtide.views.trainers import JobResource, Trainer


class Found(NamedTuple):
    trainer: Trainer
    resource: Resource
    job: Obj

    @property
    def key(self) -> Key:
        return Key.of(self.job)


class JobNotFound(Failure):
    def __init__(self, namespace: str, name: str) -> None:
        what = text("There is no job {name} in namespace {namespace}.", name=name, namespace=namespace)
        super().__init__(what, hint=text("see all jobs with: {command}", command="tide list -A"), code=ExitCode.NOT_FOUND)
        self.namespace, self.name = namespace, name


class SeveralJobs(Failure):
    def __init__(self, namespace: str, name: str, found: Sequence[Trainer]) -> None:
        types = ", ".join(trainer.name for trainer in found)
        what = text("There are several jobs {name} in namespace {namespace}.", name=name, namespace=namespace)
        cause = text("they are of the types {types}", types=types)
        super().__init__(what, cause, text("choose one with --type"), ExitCode.USAGE)
        self.namespace, self.name = namespace, name


async def one(client: Client, namespace: str, name: str, trainer: Trainer | None = None) -> Found:
    """The job with this name, of this type if one is given. JobNotFound, SeveralJobs."""
    found = await named(client, namespace, name, trainer)
    if not found:
        raise JobNotFound(namespace, name)
    if len(found) > 1:
        raise SeveralJobs(namespace, name, [each.trainer for each in found])
    return found[0]


async def named(client: Client, namespace: str, name: str, trainer: Trainer | None = None) -> list[Found]:
    """All jobs with this name."""
    found: list[Found] = []
    for kind in _kinds(trainer):
        for resource in resources(kind):
            try:
                job = await client.get(resource, Key(namespace, name))
            except errors.NotFound as error:
                if is_served(error):
                    break
                continue
            found += _of_type([_found(resource, job)], trainer)
            break
    return found


async def all_jobs(client: Client, namespace: str, trainer: Trainer | None = None) -> list[Found]:
    """All jobs of a namespace; empty: of all namespaces. A kind that the cluster does not know has no jobs."""
    found: list[Found] = []
    for kind in _kinds(trainer):
        for resource in resources(kind):
            try:
                jobs = (await client.list(resource, Scope(namespace))).items
            except errors.NotFound:
                continue
            found += _of_type([_found(resource, job) for job in jobs], trainer)
            break
    return found


async def pods_of(client: Client, found: Found) -> list[Obj]:
    namespace, name = found.key
    listing = await client.list(PODS, Scope(namespace, labels=found.trainer.pods_selector(name)))
    return [pod for pod in listing.items if trainers.owns(found.job, pod)]


def resources(kind: JobResource) -> list[Resource]:
    """The kind in each of its versions, the best one first."""
    return [Resource(kind.group, version, kind.plural, kind.kind) for version in kind.versions]


def is_served(error: errors.NotFound) -> bool:
    """Whether the kind is served, and only the object is missing."""
    return bool(error.details.get("name"))


def _kinds(trainer: Trainer | None) -> Sequence[JobResource]:
    return trainers.RESOURCES if trainer is None else (trainer.resource,)


def _found(resource: Resource, job: Obj) -> Found:
    job.setdefault("kind", resource.kind)
    return Found(trainers.of_job(job), resource, job)


def _of_type(found: Iterable[Found], trainer: Trainer | None) -> list[Found]:
    """Two types share a kind."""
    return [each for each in found if trainer is None or each.trainer is trainer]
