# SPDX-License-Identifier: Apache-2.0
"""Starts a job again: one that has not finished is suspended and resumed, one that has finished is created anew.

With a finished job that Arena has submitted, its other objects are created anew as well, because they are deleted with
the job that owns them.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from typing import Final

import yaml

from springtide.cli.errors import ExitCode, Failure
from springtide.cli.jobs import finding
from springtide.cli.jobs.changing import suspending
from springtide.cli.jobs.finding import Job
from springtide.kube.client import Client
from springtide.kube.errors import AlreadyExists, ApiError, NotFound
from springtide.kube.request import DeleteOptions
from springtide.kube.resources import (
    CONFIGMAPS,
    DEPLOYMENTS,
    PERSISTENTVOLUMECLAIMS,
    SECRETS,
    SERVICES,
    Key,
    Obj,
    Resource,
)
from springtide.manifests.copies import clean, unsuspended
from springtide.messages import text
from springtide.views import trainers

_LOOK_AGAIN: Final = 0.2
_BESIDE: Final = {
    each.kind.lower(): each for each in (SECRETS, CONFIGMAPS, SERVICES, DEPLOYMENTS, PERSISTENTVOLUMECLAIMS)
}
"""Objects that Arena creates beside a job, and lists in the job's ConfigMap."""
_ASSIGNED: Final = ("clusterIP", "clusterIPs", "volumeName")
"""Fields of a Service, and of a claim, that the cluster fills in."""


async def again(client: Client, job: Job, timeout: float) -> None:
    """Suspends the job, and resumes it as soon as its pods have ended. After an interruption see `resumed`."""
    await suspending.suspend(client, job)
    await suspending.until_stopped(client, job, timeout)
    await resumed(client, job)


async def resumed(client: Client, job: Job) -> None:
    """Resumes the job if it is there: no restart leaves a job suspended."""
    now = await finding.again(client, job)
    if now is not None:
        await suspending.resume(client, now)


class Recreation:
    """Deletes a job, and creates it from its spec."""

    def __init__(self, job: Job, timeout: float) -> None:
        self._job, self._timeout = job, timeout
        self._fresh = unsuspended(clean(job.obj))
        self._deleted = self._made = False

    @property
    def has_lost(self) -> bool:
        """Whether the job is deleted and was not created again."""
        return self._deleted and not self._made

    async def run(self, client: Client) -> None:
        job = self._job
        beside = await _beside(client, job)
        self._deleted = True
        try:
            await client.delete(job.resource, job.key, DeleteOptions(propagation="Foreground", uid=job.uid))
        except ApiError:
            self._deleted = False
            raise
        await _until_gone(client, job.resource, job.key, job.uid, self._timeout)
        made = await client.create(job.resource, self._fresh)
        self._made = True
        for resource, obj in beside:
            obj["metadata"]["ownerReferences"] = [_owner(made)]
            await _put_back(client, resource, obj, self._timeout)

    def loss(self) -> Failure:
        """Keeps the manifest, and names the file."""
        name = self._job.name
        with tempfile.NamedTemporaryFile("w", prefix=f"{name}-", suffix=".yaml", delete=False) as file:
            yaml.safe_dump(self._fresh, file, sort_keys=False)
        return Failure(
            text("Job {name} is deleted, and was not created again.", name=name),
            text("the restart was interrupted, or took too long; its manifest is kept in {file}", file=file.name),
            text("create it with: {command}", command=f"tide submit -f {file.name}"),
        )


async def _beside(client: Client, job: Job) -> list[tuple[Resource, Obj]]:
    """The objects that the job owns and Arena has created."""
    type_ = trainers.of_job(job.obj).name
    book = await client.find(CONFIGMAPS, Key(job.key.namespace, f"{job.name}-{type_}"))
    if book is None or (book["metadata"].get("labels") or {}).get("createdBy") != "arena":
        return []
    found = [(CONFIGMAPS, clean(book))]
    for line in str((book.get("data") or {}).get("app", "")).splitlines():
        kind, _, name = line.strip().partition("/")
        resource = _BESIDE.get(kind.partition(".")[0])
        obj = await client.find(resource, Key(job.key.namespace, name)) if resource and name else None
        if resource and obj is not None and _is_owned(obj, job):
            fresh = clean(obj)
            for field in _ASSIGNED:
                fresh.get("spec", {}).pop(field, None)
            found.append((resource, fresh))
    return found


def _is_owned(obj: Obj, job: Job) -> bool:
    return any(owner.get("uid") == job.uid for owner in obj["metadata"].get("ownerReferences") or ())


def _owner(job: Obj) -> Obj:
    return {
        "apiVersion": job["apiVersion"],
        "kind": job["kind"],
        "name": job["metadata"]["name"],
        "uid": job["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


async def _put_back(client: Client, resource: Resource, obj: Obj, timeout: float) -> None:
    """The operator may have created an object of the same name already, such as the Secret with the keys."""
    key = Key.of(obj)
    old = await client.find(resource, key)
    if old is not None and old["metadata"].get("deletionTimestamp"):
        await _until_gone(client, resource, key, old["metadata"]["uid"], timeout)
    try:
        await client.create(resource, obj)
    except AlreadyExists:
        return


async def _until_gone(client: Client, resource: Resource, key: Key, uid: str, timeout: float) -> None:
    deadline = time.monotonic() + timeout if timeout else float("inf")
    while True:
        try:
            found = await client.get(resource, key)
        except NotFound:
            return
        if found["metadata"]["uid"] != uid:
            return
        if time.monotonic() > deadline:
            raise Failure(text("{name} is not deleted in time.", name=key.name), code=ExitCode.TIMEOUT)
        await asyncio.sleep(_LOOK_AGAIN)
