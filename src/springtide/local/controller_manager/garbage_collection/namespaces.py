# SPDX-License-Identifier: Apache-2.0
"""Namespace deletion: deletes the content, then removes the finalizer, which lets the API server finish."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from springtide.kube import request
from springtide.kube.client import Client
from springtide.kube.controller import Controller, Retry
from springtide.kube.errors import Conflict, MethodNotAllowed, NotFound
from springtide.kube.informer import Informers
from springtide.kube.request import DeleteOptions, Scope
from springtide.kube.resources import NAMESPACES, PODS, Key, Obj, Resource
from springtide.kube.workqueue import Backoff
from springtide.local.controller_manager.garbage_collection.heads import Head, deletable

FINALIZER = "kubernetes"
_AGAIN = Backoff(base=0.1, limit=5.0)
"""Foreign finalizers may stay for ever, and every retry requests the deletion of all that is left."""
LOOKED_AT: Final = 100
"""Objects of each resource whose finalizers are read; a namespace may hold thousands."""
_CONTENT = "NamespaceContentRemaining"
_FINALIZERS = "NamespaceFinalizersRemaining"


def controller(informers: Informers, client: Client) -> Controller[Key]:
    async def reconcile(key: Key) -> None:
        namespace = namespaces.get(key)
        if namespace is None or not namespace["metadata"].get("deletionTimestamp"):
            return
        if FINALIZER not in (namespace.get("spec") or {}).get("finalizers", ()):
            return
        left = await _empty(client, key.name)
        if left:
            await _report(client, namespace, left)
            raise Retry(f"{sum(each.count for each in left.values())} objects are left")
        await _finalize(client, key)

    found: Controller[Key] = Controller("namespaces", reconcile, workers=2, backoff=_AGAIN)
    namespaces = informers.of(NAMESPACES)
    found.watches(namespaces)
    return found


class _ListMetadata(msgspec.Struct):
    remainingItemCount: int = 0


class _Page(msgspec.Struct):
    metadata: _ListMetadata
    items: list[Head] | None = None


@dataclass(frozen=True, slots=True)
class Left:
    """The remaining objects of one resource."""

    count: int
    finalizers: Mapping[str, int]
    """How many of the sampled objects have each finalizer."""
    looked_at: int
    """The number of sampled objects."""

    @classmethod
    def of(cls, page: _Page) -> Left:
        heads = page.items or []
        held: dict[str, int] = {}
        for head in heads:
            for finalizer in head.metadata.finalizers:
                held[finalizer] = held.get(finalizer, 0) + 1
        return cls(len(heads) + page.metadata.remainingItemCount, held, len(heads))


async def _empty(client: Client, namespace: str) -> dict[Resource, Left]:
    """Deletes everything in the namespace; returns what is left, by resource."""
    left: dict[Resource, Left] = {}
    resources = [resource for resource in await deletable(client) if resource.namespaced]
    for resource in sorted(resources, key=lambda one: one != PODS):  # pods first: they take time to end
        try:
            if (await _first(client, resource, namespace, 1)).count:
                scope = Scope(namespace=namespace)
                # The answer, which may be all the objects, is not decoded.
                await client.raw(request.delete_collection(resource, scope, DeleteOptions("Background")))
                if (remaining := await _first(client, resource, namespace, LOOKED_AT)).count:
                    left[resource] = remaining
        except (NotFound, MethodNotAllowed):
            continue  # a custom resource that was removed meanwhile
    return left


async def _first(client: Client, resource: Resource, namespace: str, limit: int) -> Left:
    """The number of objects, and the first of them."""
    scope = Scope(namespace=namespace, metadata_only=True)
    answer = await client.raw(request.list_page(resource, scope, limit))
    return Left.of(msgspec.json.decode(answer.body, type=_Page))


async def _finalize(client: Client, key: Key) -> None:
    """Uses the newest state, not the cache: the request carries all remaining finalizers."""
    current = await client.find(NAMESPACES, key)
    if current is None or not current["metadata"].get("deletionTimestamp"):
        return
    kept = [name for name in current["spec"].get("finalizers", ()) if name != FINALIZER]
    current["spec"]["finalizers"] = kept
    try:
        await client.replace(NAMESPACES, current, subresource="finalize")
    except NotFound:
        return


async def _report(client: Client, namespace: Obj, left: Mapping[Resource, Left]) -> None:
    conditions = remaining_conditions(left, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
    key = Key.of(namespace)
    current = {c["type"]: c for c in (namespace.get("status") or {}).get("conditions") or ()}
    if all(current.get(c["type"], {}).get("message") == c["message"] for c in conditions):
        return
    try:
        await client.patch(NAMESPACES, key, {"status": {"conditions": conditions}}, subresource="status")
    except (NotFound, Conflict):
        return


def remaining_conditions(left: Mapping[Resource, Left], now: str) -> list[Obj]:
    """The conditions that `kubectl describe namespace` shows during the deletion."""
    counts = ", ".join(f"{resource} has {each.count} resource instances" for resource, each in left.items())
    held: dict[str, int] = {}
    for each in left.values():
        for finalizer, count in each.finalizers.items():
            held[finalizer] = held.get(finalizer, 0) + count
    least = "at least " if any(each.looked_at < each.count for each in left.values()) else ""
    conditions = [_condition(_CONTENT, "SomeResourcesRemain", f"Some resources are remaining: {counts}", now)]
    if held:
        text = ", ".join(f"{name} in {least}{count} resource instances" for name, count in sorted(held.items()))
        message = f"Some content in the namespace has finalizers remaining: {text}"
        conditions.append(_condition(_FINALIZERS, "SomeFinalizersRemain", message, now))
    return conditions


def _condition(kind: str, reason: str, message: str, now: str) -> dict[str, Any]:
    return {"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now}
