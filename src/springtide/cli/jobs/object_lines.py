# SPDX-License-Identifier: Apache-2.0
"""Objects as kubectl and Arena name them in a line, `secret/a`, `trainingjob.kai.alibabacloud.com/a`, and back.

Arena keeps such a line for every object of a job, and deletes the job by them.
"""

from __future__ import annotations

from typing import Final

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.request import JSON, Request
from springtide.kube.resources import (
    CONFIGMAPS,
    DEPLOYMENTS,
    JOBS,
    PERSISTENTVOLUMECLAIMS,
    ROLEBINDINGS,
    ROLES,
    SECRETS,
    SERVICEACCOUNTS,
    SERVICES,
    Key,
    Obj,
    Resource,
)
from springtide.views import trainers

_BUILT_IN: Final = (
    *(CONFIGMAPS, DEPLOYMENTS, JOBS, PERSISTENTVOLUMECLAIMS, ROLEBINDINGS, ROLES),
    *(SECRETS, SERVICEACCOUNTS, SERVICES),
)


def resource_of(obj: Obj) -> Resource:
    """The resource of an object that is to be written."""
    group, _, version = obj["apiVersion"].rpartition("/")
    for known in _BUILT_IN:
        if (known.group, known.kind) == (group, obj["kind"]):
            return known
    for kind in trainers.RESOURCES:
        if (kind.group, kind.kind) == (group, obj["kind"]):
            return Resource(group, version, kind.plural, kind.kind)
    raise KeyError(f"{obj['apiVersion']} {obj['kind']}")


async def read(client: Client, line: str, namespace: str) -> tuple[Resource, Key] | None:
    """None for a kind that the cluster does not know."""
    kind, slash, name = line.strip().partition("/")
    singular, _, group = kind.partition(".")
    if not slash or not name:
        return None
    for known in _BUILT_IN:
        if (known.group, known.kind.lower()) == (group, singular):
            return known, Key(namespace, name)
    resource = await _discovered(client, group, singular)
    return None if resource is None else (resource, Key(namespace, name))


async def _discovered(client: Client, group: str, singular: str) -> Resource | None:
    """As the API server lists its resources; the group's preferred version."""
    try:
        found = await _get(client, f"/apis/{group}")
        version = found["preferredVersion"]["version"]
        served = await _get(client, f"/apis/{group}/{version}")
    except errors.NotFound:
        return None
    for each in served.get("resources") or ():
        if "/" not in each["name"] and singular in (each.get("singularName"), each["kind"].lower()):
            return Resource(group, version, each["name"], each["kind"], bool(each.get("namespaced")))
    return None


async def _get(client: Client, path: str) -> Obj:
    return await client.document(Request("GET", path, headers={"Accept": JSON}))
