# SPDX-License-Identifier: Apache-2.0
"""Creates the objects of manifests, in their order, and compares manifests with what the cluster has."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from springtide.cli.errors import Failure
from springtide.cli.jobs.served_kinds import ServedKinds
from springtide.kube.client import Client
from springtide.kube.errors import AlreadyExists, BadRequest, Invalid
from springtide.kube.request import Patch, patch
from springtide.kube.resources import Key, Obj, Resource
from springtide.messages import text
from springtide.views import trainers

MANAGER: Final = "tide"
_DRY: Final = {"dryRun": "All"}
_OF_THE_SERVER: Final = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid")
_TRAINED: Final = frozenset((kind.group, kind.kind) for kind in trainers.RESOURCES)


class Created(NamedTuple):
    resource: Resource
    obj: Obj
    """As the server returns it."""

    @property
    def title(self) -> str:
        """As kubectl writes it: mpijob.kubeflow.org/bert."""
        group = f".{self.resource.group}" if self.resource.group else ""
        return f"{self.resource.kind.lower()}{group}/{self.obj['metadata']['name']}"

    @property
    def is_job(self) -> bool:
        return (self.resource.group, self.resource.kind) in _TRAINED


class Difference(NamedTuple):
    title: str
    live: Obj | None
    """None: it does not exist."""
    wanted: Obj
    """As the server would store it."""


async def create(
    client: Client, manifests: Iterable[Obj], show: Callable[[Created], None], *, dry_run: bool = False
) -> list[Created]:
    """`show` is called with each object as soon as it is created. Failure for an object that exists, or that the server
    rejects: those before it are created."""
    kinds, found = ServedKinds(client), list[Created]()
    query = {"fieldManager": MANAGER, "fieldValidation": "Strict", **(_DRY if dry_run else {})}
    for obj in manifests:
        resource = await kinds.resource(obj)
        kind, name = resource.kind, obj["metadata"]["name"]
        try:
            made = Created(resource, await client.create(resource, _fresh(obj), query=query))
        except AlreadyExists:
            raise _exists(resource, name) from None
        except (Invalid, BadRequest) as error:
            raise Failure(
                text("{kind} {name} is not valid.", kind=kind, name=name), text("{why}", why=error.message)
            ) from None
        show(made)
        found.append(made)
    return found


def _fresh(obj: Obj) -> Obj:
    """Without what the server writes: the manifest may be one that the server has returned."""
    metadata = {name: value for name, value in obj["metadata"].items() if name not in _OF_THE_SERVER}
    return {**{name: value for name, value in obj.items() if name != "status"}, "metadata": metadata}


def _exists(resource: Resource, name: str) -> Failure:
    compare = "tide diff -f FILE"
    hint = text("compare the two: {command}", command=compare)
    if (resource.group, resource.kind) in _TRAINED:
        hint = text(
            "compare the two: {compare}; or give yours another name, or delete that one: {delete}",
            compare=compare,
            delete=f"tide delete {name}",
        )
    return Failure(text("{kind} {name} exists already.", kind=resource.kind, name=name), hint=hint)


async def differences(client: Client, manifests: Iterable[Obj]) -> list[Difference]:
    """By a server-side dry run, so that defaults of the server are no differences.

    A job is compared as if it were replaced: fields that its manifest lacks are differences. Other objects have fields
    that the server assigns, and are compared as if the manifest were applied.
    """
    kinds, found = ServedKinds(client), list[Difference]()
    for obj in manifests:
        resource = await kinds.resource(obj)
        live = await client.find(resource, Key.of(obj))
        if live is None:
            wanted = await client.create(resource, _fresh(obj), query=_DRY)
        elif (resource.group, resource.kind) in _TRAINED:
            wanted = await client.replace(resource, _replacing(live, obj), query=_DRY)
        else:
            wanted = await _applied(client, resource, obj)
        title = f"{resource.kind} {obj['metadata']['name']}"
        found.append(Difference(title, live, wanted))
    return found


def _replacing(live: Obj, obj: Obj) -> Obj:
    """The live object with the manifest's spec; labels and annotations that others have added stay."""
    metadata = dict(live["metadata"])
    for name in ("labels", "annotations"):
        if joined := {**(metadata.get(name) or {}), **(obj["metadata"].get(name) or {})}:
            metadata[name] = joined
    return {**live, **obj, "metadata": metadata}


async def _applied(client: Client, resource: Resource, obj: Obj) -> Obj:
    query = {"fieldManager": MANAGER, "force": "true", **_DRY}
    return await client.document(patch(resource, Key.of(obj), obj, Patch.APPLY, "", query))
