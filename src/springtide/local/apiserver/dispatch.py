# SPDX-License-Identifier: Apache-2.0
"""Request dispatch: authorise, find the resource, call the verb.

The whole server without sockets. The HTTP edge and the in-process transport call `handle`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from springtide.local import status
from springtide.local.access.attributes import Attributes, require
from springtide.local.apiserver.context import Call, Context
from springtide.local.apiserver.registry.resources import Resource
from springtide.local.apiserver.replies import Answer, negotiate, page_not_found, refusal
from springtide.local.apiserver.requests import Request, Target, attributes, parse_target
from springtide.local.apiserver.verbs.create import create
from springtide.local.apiserver.verbs.delete import delete, delete_collection
from springtide.local.apiserver.verbs.patch import patch
from springtide.local.apiserver.verbs.read import get, list_collection
from springtide.local.apiserver.verbs.update import update
from springtide.local.apiserver.verbs.watch import watch
from springtide.local.status import StatusError
from springtide.local.store.backend import DamagedError

Verb = Callable[[Context, Call], Awaitable[Answer]]
PathHandler = Callable[[Request], Awaitable[Answer]]
OwnHandler = Callable[[Request, Target], Awaitable[Answer]]

VERBS: dict[str, Verb] = {
    "create": create,
    "update": update,
    "patch": patch,
    "get": get,
    "list": list_collection,
    "watch": watch,
    "delete": delete,
    "deletecollection": delete_collection,
}


class Dispatcher:
    """`subresources` maps (storage or "*", subresource, verb or "*") to a handler; `special` maps resources that are
    not stored (reviews, metrics) to theirs; `paths` serves everything outside `/api` and `/apis`. `own` maps (group,
    version, resource) to what no Kubernetes serves: in no registry or discovery, and authorised by the handler."""

    def __init__(
        self,
        ctx: Context,
        paths: PathHandler,
        subresources: dict[tuple[str, str, str], Verb],
        special: dict[tuple[str, str], Verb],
        own: Mapping[tuple[str, str, str], OwnHandler],
    ) -> None:
        self._ctx, self._paths, self._subresources, self._special = ctx, paths, subresources, special
        self._own = own

    async def handle(self, request: Request, raw_path: str) -> Answer:
        try:
            return await self.answer(request, raw_path)
        except StatusError as error:
            return refusal(error)
        except DamagedError as error:
            return refusal(status.internal(str(error)))

    async def answer(self, request: Request, raw_path: str) -> Answer:
        target = parse_target(request.method, raw_path, request.query)
        if target is None:
            require(self._ctx.authorizer, request.user, path_attributes(request))
            return await self._paths(request)
        if own := self._own.get((target.group, target.version, target.resource)):
            return await own(request, target)
        require(self._ctx.authorizer, request.user, attributes(target))
        if not self._is_routed(target):
            return page_not_found()
        call = self._call(request, target)
        if call.resource.deprecation:
            request.warnings.append(call.resource.deprecation)
        return await self._verb(call)(self._ctx, call)

    def _is_routed(self, target: Target) -> bool:
        """Whether the path exists: any path of a built-in group does, in a custom group only defined resources."""
        registry = self._ctx.registry
        if registry.has_builtin_group(target.group):
            return True
        resource = registry.find(target.group, target.version, target.resource)
        return resource is not None and (resource.namespaced or not target.namespace)

    def _call(self, request: Request, target: Target) -> Call:
        resource = self._ctx.registry.find(target.group, target.version, target.resource)
        if resource is None:
            raise status.path_not_found()
        _check_route(request.method, target, resource)
        return Call(request, target, resource, negotiate(request.headers.get("Accept", "")))

    def _verb(self, call: Call) -> Verb:
        target, resource = call.target, call.resource
        if target.subresource:
            return self._subresource(call)
        if target.verb not in resource.verbs:
            raise status.method_not_allowed()
        return self._special.get((resource.group, resource.plural)) or VERBS[target.verb]

    def _subresource(self, call: Call) -> Verb:
        target = call.target
        sub = call.resource.subresources.get(target.subresource)
        if sub is None and call.resource.custom:
            raise status.not_found(call.resource.group, call.resource.plural, target.name)
        if sub is None:
            raise status.path_not_found()
        if target.verb not in sub.verbs:
            raise status.method_not_allowed()
        for storage in (call.resource.storage, "*"):
            for verb in (target.verb, "*"):
                if found := self._subresources.get((storage, target.subresource, verb)):
                    return found
        raise status.path_not_found()


def _check_route(method: str, target: Target, resource: Resource) -> None:
    """Check that the path has the method at all, before the verbs of the resource are checked."""
    if is_misplaced(target, resource):
        raise status.path_not_found()
    if method in ("HEAD", "OPTIONS") or not target.verb:
        raise status.method_not_allowed()
    everywhere = resource.namespaced and not target.namespace
    if not target.name and (target.verb in ("update", "patch") or (everywhere and target.verb in _ONE_NAMESPACE)):
        raise status.method_not_allowed()
    if target.name and target.verb == "create" and not target.subresource:
        raise status.method_not_allowed()


def is_misplaced(target: Target, resource: Resource) -> bool:
    """Whether a path does not fit the resource's scope.

    Permissions in a namespace must not reach beyond it: its paths lead to no other namespace and to no node.
    """
    itself = (target.group, target.resource, target.namespace) == ("", "namespaces", target.name)
    if resource.namespaced:
        return bool(target.name) and not target.namespace
    return bool(target.namespace) and not itself


_ONE_NAMESPACE = ("create", "deletecollection")


def path_attributes(request: Request) -> Attributes:
    return Attributes(request.method.lower(), path=request.path)
