# SPDX-License-Identifier: Apache-2.0
"""Paths outside the resource API: health, version, metrics, discovery, OpenAPI, token keys."""

from __future__ import annotations

import platform
import sys
from collections.abc import Awaitable, Callable

import springtide
from springtide.local import status
from springtide.local.apiserver.context import Context
from springtide.local.apiserver.discovery import api_groups
from springtide.local.apiserver.discovery.openapi import OpenApi
from springtide.local.apiserver.measures import Measures
from springtide.local.apiserver.replies import Answer, Reply, negotiate, page_not_found, reply
from springtide.local.apiserver.requests import Request

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
TEXT = "text/plain; charset=utf-8"
KUBERNETES = ("1", "36", springtide.KUBERNETES_VERSION)


def version() -> dict[str, str]:
    major, minor, git = KUBERNETES
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": f"{git}+springtide.{springtide.__version__}",
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": f"python{platform.python_version()}",
        "compiler": platform.python_implementation().lower(),
        "platform": f"{sys.platform}/{_ARCHITECTURES.get(platform.machine(), platform.machine())}",
    }


class Paths:
    """Responses by path. `ready` returns the result of each readiness check."""

    def __init__(
        self,
        ctx: Context,
        ready: Callable[[], dict[str, bool]],
        documents: dict[str, dict[str, object]],
        measures: Measures,
        address: str,
    ) -> None:
        self._ctx, self._ready, self._documents, self._address = ctx, ready, documents, address
        self._openapi = OpenApi(ctx.registry, lambda: ctx.store.list("customresourcedefinitions.apiextensions.k8s.io"))
        self._measures = measures

    async def __call__(self, request: Request) -> Answer:
        if request.method not in ("GET", "HEAD"):
            raise status.method_not_allowed()
        path = request.path.rstrip("/") or "/"
        for prefix, handler in self._table():
            if path == prefix or path.startswith(prefix + "/"):
                return await handler(request, path)
        if path == "/":
            return reply({"paths": self._known()})
        if path in self._documents:
            return reply(self._documents[path])
        return page_not_found()

    def _known(self) -> list[str]:
        """The paths that `kubectl get --raw /` lists."""
        served = {(resource.group, resource.version) for resource in self._ctx.registry.all()}
        found = {f"/apis/{group}" for group, _ in served if group}
        found |= {f"/apis/{group}/{version}" if group else f"/api/{version}" for group, version in served}
        return sorted(found | {path for path, _ in self._table()} | {"/openapi/v3"} | set(self._documents))

    def _table(self) -> list[tuple[str, Callable[[Request, str], Awaitable[Answer]]]]:
        return [
            ("/api", self._api),
            ("/apis", self._apis),
            ("/openapi", self._openapi_document),
            ("/healthz", self._health),
            ("/livez", self._health),
            ("/readyz", self._health),
            ("/version", self._version),
            ("/metrics", self._metrics),
        ]

    async def _api(self, request: Request, path: str) -> Answer:
        form = negotiate(request.headers.get("Accept", ""))
        core = [resource for resource in self._ctx.registry.all() if not resource.group]
        if path == "/api":
            if form.kind == "APIGroupDiscoveryList":
                return _discovered(api_groups.aggregated(core))
            return reply(api_groups.api_versions(self._address), form)
        document = api_groups.resource_list(core, "", path.removeprefix("/api/"))
        if document is None:
            raise status.path_not_found()
        return reply(document)

    async def _apis(self, request: Request, path: str) -> Answer:
        form = negotiate(request.headers.get("Accept", ""))
        named = [resource for resource in self._ctx.registry.all() if resource.group]
        if path == "/apis":
            if form.kind == "APIGroupDiscoveryList":
                return _discovered(api_groups.aggregated(named))
            return reply(api_groups.group_list(named), form)
        group, _, version = path.removeprefix("/apis/").partition("/")
        return _found(
            api_groups.resource_list(named, group, version) if version else api_groups.one_group(named, group)
        )

    async def _openapi_document(self, request: Request, path: str) -> Answer:
        if path == "/openapi/v2":
            return _older_openapi(request.headers.get("Accept", ""))
        if path == "/openapi/v3":
            index = reply(self._openapi.index())
            index.content_type = TEXT
            return index
        document = await self._openapi.document(path.removeprefix("/openapi/v3/"))
        return document if document is not None else Reply(b"", 404, "")

    async def _health(self, request: Request, path: str) -> Answer:
        checks = self._ready()
        failed = [name for name, fine in checks.items() if not fine]
        if "verbose" in request.query or failed:
            lines = [f"[{'+' if fine else '-'}]{name} {'ok' if fine else 'failed'}" for name, fine in checks.items()]
            lines.append(f"{path[1:].split('/')[0]} check {'failed' if failed else 'passed'}")
            text = "\n".join(lines) + "\n"
        else:
            text = "ok"
        return Reply(text.encode(), 500 if failed else 200, TEXT)

    async def _version(self, request: Request, path: str) -> Answer:
        return reply(version())

    async def _metrics(self, request: Request, path: str) -> Answer:
        return Reply(self._measures.text(self._ctx.store), content_type="text/plain; version=0.0.4; charset=utf-8")


def _discovered(document: dict[str, object]) -> Answer:
    answer = reply(document)
    answer.content_type = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    answer.headers["Vary"] = "Accept"
    return answer


def _found(document: dict[str, object] | None) -> Answer:
    return reply(document) if document is not None else page_not_found()


_V2_PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


def _older_openapi(accept: str) -> Reply:
    """An empty document. kubectl requests it for kinds that cannot be patched (reviews), because version 3 does not
    show that the server validates fields of those; with an empty document it leaves the validation to the server."""
    if _V2_PROTOBUF in accept:
        # An empty protobuf message is an empty document. The "@" in the requested type is invalid in a response.
        return Reply(b"", content_type=_V2_PROTOBUF.replace("@", "."))
    info = {"title": "Springtide embedded API server", "version": springtide.KUBERNETES_VERSION}
    return reply({"swagger": "2.0", "info": info, "paths": {}, "definitions": {}})
