# SPDX-License-Identifier: Apache-2.0
"""The chain of plugins, in kube-apiserver's order.

Most plugins handle one kind of object. The plugins for a request depend only on its operation, resource and
subresource, so they are looked up and not determined anew for every request.
"""

from __future__ import annotations

from collections.abc import Iterable

from springtide.local.admission.request import AdmissionRequest, Plugin


class Chain:
    """`mutating` plugins may change the object, `validating` ones see it as it will be stored."""

    def __init__(self, mutating: Iterable[Plugin], validating: Iterable[Plugin]) -> None:
        self._mutating = tuple(mutating)
        self._validating = tuple(validating)
        self._routes: dict[tuple[str, str, str, str], tuple[tuple[Plugin, ...], tuple[Plugin, ...]]] = {}

    async def mutate(self, request: AdmissionRequest) -> None:
        for plugin in self._route(request)[0]:
            await plugin.admit(request)

    async def validate(self, request: AdmissionRequest) -> None:
        for plugin in self._route(request)[1]:
            await plugin.admit(request)

    async def admit(self, request: AdmissionRequest) -> None:
        """Both phases at once, for requests without an object: DELETE and CONNECT."""
        await self.mutate(request)
        await self.validate(request)

    def _route(self, request: AdmissionRequest) -> tuple[tuple[Plugin, ...], tuple[Plugin, ...]]:
        key = (request.operation, request.resource, request.group, request.subresource)
        route = self._routes.get(key)
        if route is None:
            asked = (request.operation, request.storage, request.subresource)
            route = self._routes[key] = (
                tuple(plugin for plugin in self._mutating if plugin.handles(*asked)),
                tuple(plugin for plugin in self._validating if plugin.handles(*asked)),
            )
        return route
