# SPDX-License-Identifier: Apache-2.0
"""One status write at the end of a reconcile, and none when nothing is new.

A write holds for the version of the object that the decision was made on: Conflict otherwise, which the controller
loop answers by deciding again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from springtide.kube.client import Client
from springtide.kube.resources import Key, Obj, Resource


async def write_status(
    client: Client, resource: Resource, obj: Obj, status: Obj, *, annotations: Mapping[str, str] | None = None
) -> Obj:
    """The object as it stands afterwards; annotations travel along where the resource's status allows it."""
    patch: Obj = {}
    if changed := changes(obj.get("status") or {}, status):
        patch["status"] = changed
    present = obj["metadata"].get("annotations") or {}
    news = {name: value for name, value in (annotations or {}).items() if present.get(name) != value}
    if not patch and not news:
        return obj
    metadata: Obj = {"resourceVersion": obj["metadata"]["resourceVersion"], "uid": obj["metadata"]["uid"]}
    if news:
        metadata["annotations"] = news
    patch["metadata"] = metadata
    return await client.patch(resource, Key.of(obj), patch, subresource="status")


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Obj:
    """The merge patch from one mapping to the other; empty when they say the same."""
    patch: Obj = {}
    for name, value in new.items():
        before = old.get(name)
        if before == value:
            continue
        if isinstance(before, dict) and isinstance(value, dict):
            patch[name] = changes(before, value)
        else:
            patch[name] = value
    patch |= {name: None for name in old if name not in new}
    return patch
