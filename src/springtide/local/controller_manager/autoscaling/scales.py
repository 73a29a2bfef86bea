# SPDX-License-Identifier: Apache-2.0
"""The `scale` subresource of any resource, found by the kind written in `scaleTargetRef`.

Used by autoscalers and disruption budgets. The resource of a kind is found by discovery once and cached; discovery is
repeated for an unknown kind, because its CustomResourceDefinition may have been installed meanwhile.
"""

from __future__ import annotations

import msgspec

from springtide.kube.client import Client
from springtide.kube.request import JSON, Request
from springtide.kube.resources import Key, Obj, Resource

_DISCOVERY = {"Accept": f"{JSON};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}


class NoSuchKind(Exception):
    """No resource of that kind is served; the message is for users."""


class NotScalable(Exception):
    """The kind is served but has no scale; the message is for users."""


class Scales:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[tuple[str, str], Resource] = {}
        self._scalable: set[Resource] = set()

    async def resource_of(self, api_version: str, kind: str) -> Resource:
        """The resource with a scale of this group and kind, in the server's preferred version."""
        group = api_version.rpartition("/")[0]
        wanted = (group, kind)
        if wanted not in self._known:
            await self._discover()
        found = self._known.get(wanted)
        if found is None:
            raise NoSuchKind(f'no matches for kind "{kind}" in group "{group}"')
        if found not in self._scalable:
            raise NotScalable(f"{found} does not implement the scale subresource")
        return found

    async def get(self, resource: Resource, key: Key) -> Obj:
        return await self._client.get(resource, key, subresource="scale")

    async def set(self, resource: Resource, key: Key, replicas: int) -> None:
        await self._client.patch(resource, key, {"spec": {"replicas": replicas}}, subresource="scale")

    async def _discover(self) -> None:
        self._known.clear()
        self._scalable.clear()
        for path in ("/api", "/apis"):
            answer = await self._client.raw(Request("GET", path, headers=_DISCOVERY))
            for group in msgspec.json.decode(answer.body)["items"]:
                for version in group["versions"]:
                    self._learn(group["metadata"].get("name", ""), version)

    def _learn(self, group: str, version: Obj) -> None:
        for entry in version.get("resources") or ():
            resource = _resource(group, version["version"], entry)
            self._known.setdefault((group, resource.kind), resource)
            if _has_scale(entry):
                self._scalable.add(resource)


def _has_scale(entry: Obj) -> bool:
    return any(part["subresource"] == "scale" for part in entry.get("subresources") or ())


def _resource(group: str, version: str, entry: Obj) -> Resource:
    kind = entry["responseKind"]["kind"]
    return Resource(group, version, entry["resource"], kind, entry["scope"] == "Namespaced")
