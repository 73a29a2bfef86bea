# SPDX-License-Identifier: Apache-2.0
"""Log, exec, attach, port-forward and proxy: requests that end at a node, and are only authorised and routed here.

Logs are ordinary answers that go on. The others leave HTTP: the edge hands over the raw connection before aiohttp's
parser sees it, this module asks who it is and whether he may, and `streams` carries the bytes.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qs

import aiohttp

from springtide.local import status
from springtide.local.access.attributes import require
from springtide.local.access.authentication import Authenticator, user_of_der
from springtide.local.access.identity import User
from springtide.local.access.impersonation import impersonate
from springtide.local.admission.request import CONNECT
from springtide.local.apiserver.context import Call, Context, StoreReader
from springtide.local.apiserver.dispatch import attributes
from springtide.local.apiserver.options import WriteOptions
from springtide.local.apiserver.replies import Answer, Stream
from springtide.local.apiserver.requests import Query, Request, Target, parse_target, split_target
from springtide.local.apiserver.writes import admission_request
from springtide.local.kinds.strategy import Obj
from springtide.local.status import StatusError
from springtide.local.streams import kubelet, logs, proxy
from springtide.local.streams.takeover import Upgrade

_COMMANDS = {"exec": kubelet.exec_location, "attach": kubelet.attach_location}
_OPTIONS = WriteOptions(False, "Ignore", "")


class NodeStreams:
    def __init__(self, ctx: Context, authenticator: Authenticator, tls: ssl.SSLContext | None) -> None:
        """`tls` holds the certificate that nodes know the API server by."""
        self._ctx, self._authenticator, self._tls = ctx, authenticator, tls
        self._reader = StoreReader(ctx.store)
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    # Ordinary answers

    async def log(self, ctx: Context, call: Call) -> Answer:
        query = parse_qs(call.request.query.raw, keep_blank_values=True)
        kubelet.check_log_options(call.target.name, query)
        pod = self._pod(call.target)
        if not pod["spec"].get("nodeName"):
            return Stream(_nothing(), content_type="text/plain")
        location = kubelet.log_location(self._node(pod), pod, query)
        chunks = logs.stream(self._http(), location, call.target.name)
        first = await anext(chunks, b"")  # a refusal must come before the headers
        return Stream(_with_first(first, chunks), content_type="text/plain")

    async def metrics_text(self, node: Obj) -> str:
        location = kubelet.kubelet_of(node, self._tls).at("/metrics/resource")
        return b"".join([chunk async for chunk in logs.stream(self._http(), location, "")]).decode()

    async def needs_upgrade(self, ctx: Context, call: Call) -> Answer:
        raise status.bad_request("Upgrade request required")

    # Connections that leave HTTP

    async def upgraded(self, upgrade: Upgrade) -> None:
        path, raw_query = split_target(upgrade.head.target)
        try:
            user = self._user(upgrade, path)
            target = parse_target(upgrade.head.method, path, Query(raw_query))
            if target is None:
                raise status.path_not_found()
            user = impersonate(user, upgrade.head.headers, attributes(target), self._ctx.authorizer)
            self._authorize(user, target, upgrade.head.upgrade == "websocket")
            connect = await self._connection(upgrade, target, user, raw_query)
        except StatusError as error:
            await proxy.refuse(upgrade.duplex, error)
            return
        await connect

    def _user(self, upgrade: Upgrade, path: str) -> User:
        certificate = user_of_der(upgrade.certificate)
        return self._authenticator.authenticate(upgrade.head.get("authorization"), certificate, path)

    def _authorize(self, user: User, target: Target, websocket: bool) -> None:
        require(self._ctx.authorizer, user, attributes(target))
        if websocket and target.verb == "get":
            # A WebSocket has to be a GET; that must not open a door which only `create` should.
            require(self._ctx.authorizer, user, attributes(target)._replace(verb="create"))

    async def _connection(self, upgrade: Upgrade, target: Target, user: User, raw_query: str) -> Any:
        """The coroutine that serves the connection; raises StatusError while refusing is still possible."""
        resource = self._ctx.registry.find(target.group, target.version, target.resource)
        if resource is None or target.subresource not in resource.subresources:
            raise status.path_not_found()
        query = parse_qs(raw_query, keep_blank_values=True)
        request = Request(upgrade.head.method, "", Query(raw_query), {}, user)
        admission = admission_request(Call(request, target, resource), CONNECT, None, None, _OPTIONS)
        await self._ctx.admission.validate(admission)
        if resource.storage != "pods" or target.subresource not in ("exec", "attach", "portforward"):
            raise status.bad_request(f"{target.resource}/{target.subresource} takes no upgraded connections here")
        pod = self._pod(target)
        node = self._node(pod)
        if target.subresource == "portforward":
            location = kubelet.forward_location(node, pod, query)
            return proxy.forward(upgrade.head, upgrade.duplex, location, websocket=node.speaks_websocket)
        location = _COMMANDS[target.subresource](node, pod, query)
        wanted = kubelet.wanted(query)
        return proxy.command(upgrade.head, upgrade.duplex, location, wanted, websocket=node.speaks_websocket)

    # Who is at the other end

    def _pod(self, target: Target) -> Obj:
        pod = self._reader.get("pods", target.namespace, target.name)
        if pod is None:
            raise status.not_found("", "pods", target.name)
        return pod

    def _node(self, pod: Obj) -> kubelet.Kubelet:
        name = kubelet.node_name(pod)
        node = self._reader.get("nodes", "", name)
        if node is None:
            raise status.not_found("", "nodes", name)
        return kubelet.kubelet_of(node, self._tls)

    def _http(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
        return self._session


async def _nothing() -> AsyncIterator[bytes]:
    yield b""


async def _with_first(first: bytes, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for chunk in chunks:
        yield chunk
