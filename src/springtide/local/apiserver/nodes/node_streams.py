# SPDX-License-Identifier: Apache-2.0
"""Log, exec, attach, port-forward and proxy: authorised and routed here, served by a node.

Logs are ordinary streamed responses. The others leave HTTP: the edge hands over the raw connection before aiohttp's
parser sees it, this module authenticates and authorises the user, and `streams` forwards the bytes.
"""

from __future__ import annotations

import asyncio
import random
import ssl
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, quote

import aiohttp
from aiohttp import web

from springtide.local import status
from springtide.local.access import pki
from springtide.local.access.attributes import require
from springtide.local.access.authentication import Authenticator, user_of_der
from springtide.local.access.identity import ANONYMOUS_USER, User
from springtide.local.access.impersonation import impersonate
from springtide.local.admission.request import CONNECT
from springtide.local.apiserver.audit import Audit
from springtide.local.apiserver.context import Call, Context, StoreReader
from springtide.local.apiserver.dispatch import is_misplaced
from springtide.local.apiserver.replies import Answer, Reply, Stream
from springtide.local.apiserver.requests import (
    Query,
    Request,
    Target,
    attributes,
    check_path,
    parse_target,
    split_target,
)
from springtide.local.apiserver.verbs.options import WriteOptions
from springtide.local.apiserver.writing.admission_requests import admission_request
from springtide.local.kinds.strategy import Obj
from springtide.local.status import StatusError
from springtide.local.streams import destinations, kubelet, logs, plain_proxy, proxy, tickets
from springtide.local.streams.dialing import SocketFactory
from springtide.local.streams.takeover import Upgrade

_COMMANDS = {"exec": kubelet.exec_location, "attach": kubelet.attach_location}
_STREAMS = (*_COMMANDS, "portforward")
_CONNECTIONS = (*_STREAMS, "proxy")
_METRICS_PATH = "metrics.k8s.io/resource-metrics-path"  # used by the metrics server; one KWOK serves many nodes
_OPTIONS = WriteOptions(False, "Ignore", "")
_START_PATIENCE, _START_POLL = 3.0, 0.05
"""Seconds that a log request waits for a container that is being started, and between two checks."""
_PLAIN = "/:@!$&'()*+,;="
"""Characters that are not quoted in the path of a URL."""


class NodeStreams:
    def __init__(
        self,
        ctx: Context,
        authenticator: Authenticator,
        tls: ssl.SSLContext | None,
        audit: Audit | None,
        sockets: SocketFactory | None = None,
        pods_on_loopback: Callable[[], bool] = lambda: True,
    ) -> None:
        """`tls` has the certificate by which nodes identify the API server; `sockets` reach pods and services."""
        self._pods_on_loopback = pods_on_loopback
        self._audit, self._sockets = audit, sockets
        self._ctx, self._authenticator, self._tls = ctx, authenticator, tls
        self._unverified = pki.client_context(None)  # pods and services have certificates of their own
        self._reader = StoreReader(ctx.store)
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    # Ordinary responses

    async def log(self, ctx: Context, call: Call) -> Answer:
        query = parse_qs(call.request.query.raw, keep_blank_values=True)
        kubelet.check_log_options(call.target.name, query)
        pod = self._pod(call.target)
        container = kubelet.container_of(pod, call.request.query.get("container"))
        pod = await self._started(call.target, pod, container)
        if not pod["spec"].get("nodeName"):
            return Reply(b"", 204, "")  # the pod is not scheduled yet: an empty log, not an error
        location = kubelet.log_location(self._node(pod), pod, query)
        chunks = logs.stream(self._http(), location, call.target.name)
        first = await anext(chunks, b"")  # an error must be raised before the headers are sent
        return Stream(_with_first(first, chunks), content_type="text/plain")

    async def _started(self, target: Target, pod: Obj, container: str) -> Obj:
        """Let `kubectl logs` right after `kubectl run` wait briefly: most pods start within a fraction of a second."""
        until = asyncio.get_running_loop().time() + _START_PATIENCE
        while (
            kubelet.is_starting(pod, container, datetime.now(UTC))
            and any(map(kubelet.is_ready, self._reader.list("nodes")))
            and asyncio.get_running_loop().time() < until
        ):
            await asyncio.sleep(_START_POLL)
            pod = self._pod(target)
        return pod

    async def metrics_text(self, node: Obj) -> str:
        path = (node["metadata"].get("annotations") or {}).get(_METRICS_PATH, "/metrics/resource")
        location = kubelet.kubelet_of(node, self._tls).at(path)
        return b"".join([chunk async for chunk in logs.stream(self._http(), location, "")]).decode(errors="replace")

    async def needs_upgrade(self, ctx: Context, call: Call) -> Answer:
        self._authorize(call.request.user, call.target, call.request.method)
        pod, target = self._pod(call.target), call.target
        if (target.subresource, target.verb) == ("exec", "create") and call.request.headers.get(tickets.HEADER) == "1":
            return await self._ticket(call, pod)
        raise status.bad_request("Upgrade request required")

    async def _ticket(self, call: Call, pod: Obj) -> Answer:
        raw_query = call.request.query.raw
        await self._admit(call.request.method, call.target, call.request.user, raw_query)
        client = call.request.headers.get(tickets.POD_HEADER, "")
        asked = tickets.location(self._node(pod), pod, parse_qs(raw_query, keep_blank_values=True), client)
        return Reply(await tickets.fetch(self._http(), asked, call.target.name))

    # Connections that leave HTTP

    async def upgraded(self, upgrade: Upgrade) -> None:
        path, raw_query = split_target(upgrade.head.target)
        user: User | None = None
        try:
            check_path(path)
            user = self._user(upgrade, path)
            if user is not ANONYMOUS_USER and not upgrade.authenticated(user.name):
                raise status.too_many_connections(user.name)
            target = parse_target(upgrade.head.method, path, Query(raw_query))
            if target is None:
                raise status.path_not_found()
            user = impersonate(user, upgrade.head.headers, attributes(target), self._ctx.authorizer)
            self._authorize(user, target, upgrade.head.method)
            if target.subresource in _STREAMS and upgrade.head.method not in ("GET", "POST"):
                raise status.method_not_allowed()
            connect = await self._connection(upgrade, target, user, raw_query)
        except StatusError as error:
            self._note(upgrade, user, error.code)
            await proxy.refuse(upgrade.duplex, error)
            return
        self._note(upgrade, user, HTTPStatus.SWITCHING_PROTOCOLS)
        await connect

    def _note(self, upgrade: Upgrade, user: User | None, code: int) -> None:
        """A command in a pod is audited as a change, although a WebSocket requests it with GET."""
        if self._audit is not None:
            self._audit.line("CONNECT", upgrade.head.target, user, code)

    def _user(self, upgrade: Upgrade, path: str) -> User:
        certificate = user_of_der(upgrade.certificate)
        return self._authenticator.authenticate(upgrade.head.get("authorization"), certificate, path)

    def _authorize(self, user: User, target: Target, method: str) -> None:
        require(self._ctx.authorizer, user, attributes(target))
        if needs_create(method, target):
            require(self._ctx.authorizer, user, attributes(target)._replace(verb="create"))

    async def _connection(self, upgrade: Upgrade, target: Target, user: User, raw_query: str) -> Any:
        """The coroutine that serves the connection; raises StatusError while a rejection is still possible."""
        await self._admit(upgrade.head.method, target, user, raw_query)
        query = parse_qs(raw_query, keep_blank_values=True)
        if target.subresource == "proxy":
            location, _ = self._destination(target, raw_query)
            return proxy.pass_through(upgrade.head, upgrade.duplex, location, self._sockets)
        pod = self._pod(target)
        node = self._node(pod)
        if target.subresource == "portforward":
            location = kubelet.forward_location(node, pod, query)
            return proxy.forward(upgrade.head, upgrade.duplex, location, websocket=node.speaks_websocket)
        location = _COMMANDS[target.subresource](node, pod, query)
        wanted = kubelet.wanted(query)
        return proxy.command(upgrade.head, upgrade.duplex, location, wanted, websocket=node.speaks_websocket)

    async def _admit(self, method: str, target: Target, user: User, raw_query: str) -> None:
        """Checks after authorisation: whether the subresource exists, and admission."""
        resource = self._ctx.registry.find(target.group, target.version, target.resource)
        if resource is None or is_misplaced(target, resource) or target.subresource not in _CONNECTIONS:
            raise status.path_not_found()
        subresource = resource.subresources.get(target.subresource)
        if subresource is None:
            raise status.path_not_found()
        if target.verb and target.verb not in subresource.verbs:  # OPTIONS has no verb and is forwarded by a proxy
            raise status.method_not_allowed()
        request = Request(method, "", Query(raw_query), {}, user)
        admission = admission_request(Call(request, target, resource), CONNECT, None, None, _OPTIONS)
        await self._ctx.admission.validate(admission)

    # Plain HTTP through the server

    async def forward(self, http: web.BaseRequest, user: User, target: Target, raw_query: str) -> web.StreamResponse:
        """The proxy subresource of pods, services and nodes; the body is streamed, not read first."""
        self._authorize(user, target, http.method)
        await self._admit(http.method, target, user, raw_query)
        location, prefix = self._destination(target, raw_query)
        return await plain_proxy.forward(self._http(), http, location, prefix)

    def _destination(self, target: Target, raw_query: str) -> tuple[kubelet.Location, str]:
        """The destination of a proxied path, and the path of this server that stands for its root."""
        name = destinations.parse_name(target.name, target.resource.removesuffix("s"))
        wanted = "/" + quote(target.rest, safe=_PLAIN) + (f"?{raw_query}" if raw_query else "")
        space = f"/namespaces/{target.namespace}" if target.namespace else ""
        prefix = f"/api/v1{space}/{target.resource}/{target.name}/proxy"
        owner = target.named(target.namespace, name.name)
        if target.resource == "nodes":
            node = kubelet.kubelet_of(self._object("nodes", "", name.name), self._tls)
            return destinations.node_destination(node, name, wanted, self._unverified, loopback=True), prefix
        if target.resource == "services":
            service = self._object("services", target.namespace, name.name)
            endpoints = self._reader.get("endpoints", target.namespace, name.name) or {}
            port = destinations.service_port(service, name)
            behind = destinations.Behind(
                partial(self._reader.get, "pods", target.namespace), random.choice, self._pods_on_loopback()
            )
            found = destinations.service_destination(endpoints, name, port, wanted, self._unverified, behind)
            return found, prefix
        loopback, pod = self._pods_on_loopback(), self._pod(owner)
        return destinations.pod_destination(pod, name, wanted, self._unverified, loopback=loopback), prefix

    # Pods, nodes and connections to them

    def _pod(self, target: Target) -> Obj:
        return self._object("pods", target.namespace, target.name)

    def _object(self, resource: str, namespace: str, name: str) -> Obj:
        found = self._reader.get(resource, namespace, name)
        if found is None:
            raise status.not_found("", resource, name)
        return found

    def _node(self, pod: Obj) -> kubelet.Kubelet:
        return kubelet.kubelet_of(self._object("nodes", "", kubelet.node_name(pod)), self._tls)

    def _http(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0, socket_factory=self._sockets)
            self._session = aiohttp.ClientSession(connector=connector)
        return self._session


def needs_create(method: str, target: Target) -> bool:
    """Whether the request needs `create` in addition to the verb of its method.

    A WebSocket is opened with GET; a permission to read must not allow commands. kube-apiserver requires `create` for
    pods' exec, attach and portforward with any protocol, but not for a node's own paths; here those require it as well.
    """
    if target.subresource in _STREAMS:
        return method == "GET" and target.verb == "get"
    return target.subresource == "proxy" and target.resource == "nodes" and kubelet.runs_commands(target.rest)


async def _with_first(first: bytes, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for chunk in chunks:
        yield chunk
