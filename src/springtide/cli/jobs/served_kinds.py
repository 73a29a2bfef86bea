# SPDX-License-Identifier: Apache-2.0
"""The resource of a kind, as the cluster serves it."""

from __future__ import annotations

from springtide.cli.errors import Failure
from springtide.kube.client import Client
from springtide.kube.errors import NotFound
from springtide.kube.request import JSON, Request
from springtide.kube.resources import Obj, Resource
from springtide.messages import text


class ServedKinds:
    """One request for each group and version, however many objects are of it."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[str, dict[str, Resource]] = {}

    async def resource(self, obj: Obj) -> Resource:
        """Failure for a kind that the cluster does not have."""
        version, kind = str(obj["apiVersion"]), str(obj["kind"])
        if version not in self._known:
            self._known[version] = await self._ask(version)
        found = self._known[version].get(kind)
        if found is None:
            raise Failure(
                text("The cluster has no kind {kind} of {version}.", kind=kind, version=version),
                text("it is misspelled, or its CustomResourceDefinition is not installed"),
                text("the kinds it has: {command}", command="kubectl api-resources"),
            )
        return found

    async def _ask(self, version: str) -> dict[str, Resource]:
        group, _, name = version.rpartition("/")
        path = f"/apis/{version}" if group else f"/api/{name}"
        try:
            answer = await self._client.document(Request("GET", path, headers={"Accept": JSON}))
        except NotFound:
            return {}
        listed = answer.get("resources") or ()
        return {
            each["kind"]: Resource(group, name, each["name"], each["kind"], bool(each["namespaced"]))
            for each in listed
            if "/" not in each["name"]
        }
