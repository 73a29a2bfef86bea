# SPDX-License-Identifier: Apache-2.0
"""One status write at the end of a reconcile, and none when nothing changed.

A write is conditional on the version of the object that the decision was based on. On a Conflict the controller loop
reconciles again. Most such conflicts would be caused by this controller's own previous write, because a cache lags
behind; `OwnWrites` shows when the cache has caught up.
"""

from __future__ import annotations

from collections.abc import Mapping

from springtide.kube.client import Client
from springtide.kube.merge_patch import difference
from springtide.kube.resources import Key, Obj, Resource

LOOK_AGAIN = 1.0
"""Seconds to wait for a lagging cache; its update usually arrives within milliseconds."""


async def write_status(
    client: Client, resource: Resource, obj: Obj, status: Obj, *, annotations: Mapping[str, str] | None = None
) -> Obj:
    """The object after the write; annotations are included where the resource's status allows it."""
    patch: Obj = {}
    if changed := difference(obj.get("status") or {}, status):
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


class OwnWrites:
    """The versions of objects as this controller last wrote them."""

    def __init__(self) -> None:
        self._versions: dict[Key, int] = {}

    def note(self, written: Obj) -> Obj:
        self._versions[Key.of(written)] = int(written["metadata"]["resourceVersion"])
        return written

    def forget(self, key: Key) -> None:
        self._versions.pop(key, None)

    def shown_by(self, cached: Obj) -> bool:
        """Whether this object is at least as new as the last write. If not, the cache lags behind."""
        return int(cached["metadata"]["resourceVersion"]) >= self._versions.get(Key.of(cached), 0)
