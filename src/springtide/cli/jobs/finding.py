# SPDX-License-Identifier: Apache-2.0
"""A job by its name, whatever its kind."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import NamedTuple

from springtide.cli.errors import ExitCode, Failure
from springtide.kube import request
from springtide.kube.client import Client
from springtide.kube.errors import NotFound
from springtide.kube.request import Scope
from springtide.kube.resources import PODS, Key, Obj, Resource
from springtide.messages import Text, text
from springtide.views import trainers
from springtide.views.trainers import JobResource


class JobNotFound(Failure):
    def __init__(self, namespace: str, name: str, hint: Text) -> None:
        what = text("There is no job {name} in namespace {namespace}.", name=name, namespace=namespace)
        if not namespace:
            what = text("There is no job {name} in any namespace.", name=name)
        super().__init__(what, hint=hint, code=ExitCode.NOT_FOUND)
        self.namespace, self.name = namespace, name


class SeveralJobs(Failure):
    def __init__(self, name: str, kinds: str, option: str) -> None:
        what = text("There are several jobs {name}: {kinds}.", name=name, kinds=kinds)
        super().__init__(what, hint=text("choose one with: {option}", option=option), code=ExitCode.USAGE)
        self.name = name


class Job(NamedTuple):
    resource: Resource
    key: Key
    obj: Obj
    """As it was read."""

    @property
    def name(self) -> str:
        return self.key.name

    @property
    def title(self) -> str:
        return f"{self.resource.kind} {self.key.name}"

    @property
    def uid(self) -> str:
        return str(self.obj["metadata"]["uid"])


async def find(client: Client, namespace: str, name: str, type_: str = "") -> Job:
    """Failure if there is no such job, or if there are several. `type_` is a trainer's name, alias or short form."""
    found = await named(client, namespace, name, type_)
    if not found:
        raise await absent(client, namespace, name)
    if len(found) > 1:
        kinds = ", ".join(job.resource.kind for job in found)
        raise SeveralJobs(name, kinds, f"--type {trainers.of_job(found[0].obj).name}")
    return found[0]


async def named(client: Client, namespace: str, name: str, type_: str = "") -> list[Job]:
    """All jobs with this name; two types share a kind."""
    if not name:
        return []
    found = [job for resource in kinds(type_) if (job := await _read(client, resource, Key(namespace, name)))]
    return _of_type(found, type_)


async def all_jobs(client: Client, namespace: str, type_: str = "") -> list[Job]:
    """All jobs of a namespace; empty: of all namespaces."""
    found = [job for kind in kinds(type_) for job in await _list(client, kind, namespace)]
    return _of_type(found, type_)


def _of_type(found: list[Job], type_: str) -> list[Job]:
    return [job for job in found if not type_ or trainers.of_job(job.obj) == trainers.by_word(type_)]


async def again(client: Client, job: Job) -> Job | None:
    """The job as it is now; None if it is gone, or if another one has its name."""
    now = await client.find(job.resource, job.key)
    return job._replace(obj=now) if now is not None and now["metadata"]["uid"] == job.uid else None


async def pods(client: Client, job: Job) -> list[Obj]:
    """The pods of the job."""
    scope = Scope(job.key.namespace, labels=trainers.of_job(job.obj).pods_selector(job.name))
    return [pod for pod in (await client.list(PODS, scope)).items if trainers.owns(job.obj, pod)]


async def workers(client: Client, job: Job) -> list[Obj]:
    return [pod for pod in await pods(client, job) if trainers.role(pod) == "worker"]


def kinds(type_: str) -> tuple[JobResource, ...]:
    if not type_:
        return trainers.RESOURCES
    trainer = trainers.by_word(type_)
    if trainer is None:
        names = ", ".join(each.name for each in trainers.TRAINERS)
        raise Failure(
            text("There is no type of jobs {type}.", type=type_),
            hint=text("types are: {types}", types=names),
            code=ExitCode.USAGE,
        )
    return (trainer.resource,)


async def served(client: Client, wanted: Iterable[JobResource]) -> list[Resource]:
    """The resources of those kinds that the cluster has."""
    found = []
    for kind in wanted:
        for resource in _versions(kind):
            try:
                await client.raw(request.list_page(resource, Scope(metadata_only=True), 1))
            except NotFound:
                continue
            found.append(resource)
            break
    return found


def _versions(kind: JobResource) -> list[Resource]:
    return [Resource(kind.group, version, kind.plural, kind.kind) for version in kind.versions]


async def _read(client: Client, kind: JobResource, key: Key) -> Job | None:
    """None as well for a kind that the cluster does not have."""
    for resource in _versions(kind):
        found = await client.find(resource, key)
        if found is not None:
            return Job(resource, key, found)
    return None


async def _list(client: Client, kind: JobResource, namespace: str) -> list[Job]:
    """Empty for a kind that the cluster does not have."""
    for resource in _versions(kind):
        try:
            # From the server's cache, which is milliseconds old: kube-apiserver needs four times as long otherwise.
            listing = await client.list(resource, Scope(namespace), version="0")
        except NotFound:
            continue
        return [Job(resource, Key.of(obj), obj) for obj in listing.items]
    return []


async def absent(client: Client, namespace: str, name: str) -> JobNotFound:
    """The failure, with what may have been meant."""
    there = sorted(await names(client, namespace))
    similar = difflib.get_close_matches(name, there, 1)
    if similar:
        hint = text("did you mean {name}?", name=similar[0])
    elif there:
        hint = text("the jobs there: {names}", names=_some(there))
    else:
        hint = text("there is no job in it at all; those of all namespaces: {command}", command="tide list -A")
    return JobNotFound(namespace, name, hint)


async def names(client: Client, namespace: str, type_: str = "") -> dict[str, str]:
    """The names of the jobs of a namespace, or of all, each with its kind. Only metadata is read."""
    found: dict[str, str] = {}
    wanted = trainers.by_word(type_)
    for kind in kinds(type_):
        try:
            listing = await client.list(_versions(kind)[0], Scope(namespace, metadata_only=True))
        except NotFound:
            continue  # the cluster does not have this kind
        for each in listing.items:
            if wanted is None or trainers.of_job({**each, "kind": kind.kind}) == wanted:
                found[each["metadata"]["name"]] = kind.kind
    return found


def _some(names: Iterable[str], most: int = 5) -> str:
    shown = list(names)
    return ", ".join(shown[:most]) + (", …" if len(shown) > most else "")


async def pods_of_all(client: Client, namespace: str) -> dict[Key, list[Obj]]:
    """The pods of a namespace, or of all, by the job that their labels name."""
    labels = {trainer.job_label for trainer in trainers.TRAINERS}
    found: dict[Key, list[Obj]] = {}
    for pod in (await client.list(PODS, Scope(namespace))).items:
        own = trainers.labels(pod)
        for name in {own[label] for label in labels if label in own}:
            found.setdefault(Key(pod["metadata"]["namespace"], name), []).append(pod)
    return found
