# SPDX-License-Identifier: Apache-2.0
"""A deleted namespace: its content goes first, then its finalizer, then the API server lets it go."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from springtide.kube.client import Client
from springtide.kube.controller import Controller, Retry
from springtide.kube.errors import Conflict, MethodNotAllowed, NotFound
from springtide.kube.informer import Informers
from springtide.kube.request import DeleteOptions, Scope
from springtide.kube.resources import NAMESPACES, PODS, Key, Obj, Resource
from springtide.kube.workqueue import Backoff
from springtide.local.upkeep.heads import deletable

FINALIZER = "kubernetes"
_AGAIN = Backoff(base=0.1, limit=5.0)
"""Finalizers of others may stay for ever, and every look reads all that is left."""
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
            raise Retry(f"{sum(map(len, left.values()))} objects are left")
        await _finalize(client, key)

    found: Controller[Key] = Controller("namespaces", reconcile, workers=2, backoff=_AGAIN)
    namespaces = informers.of(NAMESPACES)
    found.watches(namespaces)
    return found


async def _empty(client: Client, namespace: str) -> dict[Resource, list[Obj]]:
    """Deletes everything in it; what is still there afterwards, by resource."""
    scope = Scope(namespace=namespace, metadata_only=True)
    left: dict[Resource, list[Obj]] = {}
    resources = [resource for resource in await deletable(client) if resource.namespaced]
    for resource in sorted(resources, key=lambda one: one != PODS):  # pods first: they take time to end
        try:
            if (await client.list(resource, scope)).items:
                await client.delete_collection(resource, Scope(namespace=namespace), DeleteOptions("Background"))
                if remaining := (await client.list(resource, scope)).items:
                    left[resource] = remaining
        except (NotFound, MethodNotAllowed):
            continue  # a custom resource that went away meanwhile
    return left


async def _finalize(client: Client, key: Key) -> None:
    """Against the newest state, not the cache: the API server wants the finalizers that are left."""
    current = await client.find(NAMESPACES, key)
    if current is None or not current["metadata"].get("deletionTimestamp"):
        return
    kept = [name for name in current["spec"].get("finalizers", ()) if name != FINALIZER]
    current["spec"]["finalizers"] = kept
    try:
        await client.replace(NAMESPACES, current, subresource="finalize")
    except NotFound:
        return


async def _report(client: Client, namespace: Obj, left: Mapping[Resource, list[Obj]]) -> None:
    conditions = remaining_conditions(left, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
    key = Key.of(namespace)
    current = {c["type"]: c for c in (namespace.get("status") or {}).get("conditions") or ()}
    if all(current.get(c["type"], {}).get("message") == c["message"] for c in conditions):
        return
    try:
        await client.patch(NAMESPACES, key, {"status": {"conditions": conditions}}, subresource="status")
    except (NotFound, Conflict):
        return


def remaining_conditions(left: Mapping[Resource, list[Obj]], now: str) -> list[Obj]:
    """What `kubectl describe namespace` shows while the content goes."""
    counts = ", ".join(f"{resource} has {len(objects)} resource instances" for resource, objects in left.items())
    held: dict[str, int] = {}
    for objects in left.values():
        for obj in objects:
            for finalizer in obj["metadata"].get("finalizers") or ():
                held[finalizer] = held.get(finalizer, 0) + 1
    conditions = [_condition(_CONTENT, "SomeResourcesRemain", f"Some resources are remaining: {counts}", now)]
    if held:
        text = ", ".join(f"{name} in {count} resource instances" for name, count in sorted(held.items()))
        message = f"Some content in the namespace has finalizers remaining: {text}"
        conditions.append(_condition(_FINALIZERS, "SomeFinalizersRemain", message, now))
    return conditions


def _condition(kind: str, reason: str, message: str, now: str) -> dict[str, Any]:
    return {"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now}
