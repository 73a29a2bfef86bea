# SPDX-License-Identifier: Apache-2.0
"""The node's HTTPS endpoint: logs, exec, attach, port-forward, metrics, and tickets for direct exec.

The API server is the only caller: it presents a certificate of the cluster's CA, and has authorized the user before it
sends a request. All other clients can only use the health check.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import socket
import ssl
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
from aiohttp import web

from springtide.local.access.authentication import user_of_der
from springtide.local.access.identity import MASTERS
from springtide.local.kubelet.containers import exec_sockets
from springtide.local.kubelet.node.metrics import ResourceMetrics
from springtide.local.kubelet.serving import commands, log_requests, paths
from springtide.local.kubelet.serving.hosting import HostedPod, Hosting, PodShim, is_running
from springtide.local.kubelet.serving.log_requests import Refused
from springtide.local.kubelet.serving.paths import Asked
from springtide.local.kubelet.specs import pod_specs
from springtide.local.runtime.shim_client import ShimError
from springtide.local.streams import channels, forwarding, takeover
from springtide.local.streams.channels import Command, Status
from springtide.local.streams.duplex import Duplex, Socket
from springtide.local.streams.head import plain_response
from springtide.local.streams.takeover import Upgrade
from springtide.serving.connections import Service
from springtide.serving.listening import Listener

LOOPBACK: Final = "127.0.0.1"
TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"
_MIRROR: Final = (
    'pod "{}" is a mirror pod, whose process runs outside of pods, so exec, attach, cp and port-forward cannot reach '
    "it; kubectl logs and kubectl top pod can"
)
"""Without a colon before a space: kubectl port-forward reads a refusal as YAML first, and an object has no message."""


@contextlib.asynccontextmanager
async def serve(
    pods: Hosting, certificate: Path, key: Path, client_ca: Path, exec_directory: Path
) -> AsyncIterator[int]:
    """Serve on a free port of 127.0.0.1, which is yielded; the server ends with the context."""
    endpoint = Endpoint(pods, exec_directory)
    service = Service(endpoint.answer, upgrade=takeover.taking_over(endpoint.upgraded))
    listener = Listener(service, socket.create_server((LOOPBACK, 0)), _tls(certificate, key, client_ca))
    try:
        yield listener.port
    finally:
        await listener.close()
        await takeover.stop()
        await service.shutdown(0.1)


def _tls(certificate: Path, key: Path, client_ca: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(certificate, key)
    context.load_verify_locations(client_ca)
    context.verify_mode = ssl.CERT_OPTIONAL  # the health check needs no certificate
    context.set_alpn_protocols(["http/1.1"])
    return context


class Endpoint:
    def __init__(self, pods: Hosting, exec_directory: Path) -> None:
        self._pods = pods
        self._exec_directory = exec_directory
        self._metrics = ResourceMetrics(pods)

    # Ordinary responses

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        tls = request.transport.get_extra_info("ssl_object") if request.transport else None
        try:
            asked = _admitted(request.raw_path, tls.getpeercert(binary_form=True) if tls else None)
            return await self._answer(request, asked)
        except Refused as refused:
            return web.Response(status=refused.code, text=refused.message)

    async def _answer(self, request: web.BaseRequest, asked: Asked) -> web.StreamResponse:
        match asked.verb:
            case "/healthz":
                return web.Response(text="ok")
            case "/pods":
                listed = {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": self._objects()}
                return web.Response(body=msgspec.json.encode(listed), content_type="application/json")
            case "/metrics/resource":
                return web.Response(body=(await self._metrics.text()).encode(), headers={"Content-Type": TEXT})
            case "containerLogs":
                return await self._log(request, asked)
            case "direct":
                if request.method != "POST":
                    raise Refused(405, "a ticket is asked for with POST")
                return await self._direct(asked)
        raise Refused(400, "Upgrade request required")

    def _objects(self) -> list[dict[str, object]]:
        return [pod.obj for pod in self._pods.all()]

    async def _log(self, request: web.BaseRequest, asked: Asked) -> web.StreamResponse:
        options = log_requests.options_of(asked, datetime.now(UTC))
        pod = self._pods.find(asked.namespace, asked.pod, asked.uid)
        if pod is None:
            raise Refused(404, f'pod "{asked.pod}" does not exist')
        attempt = log_requests.attempt_of(pod, asked.container, asked.flag("previous"))
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        await response.prepare(request)
        running = partial(self._goes_on, pod_specs.uid_of(pod.obj), asked, attempt)
        async with contextlib.aclosing(pod.log_text(asked.container, attempt, options, running)) as pieces:
            async for piece in pieces:
                await response.write(piece)
        return response

    def _goes_on(self, uid: str, asked: Asked, attempt: int) -> bool:
        pod = self._pods.find(asked.namespace, asked.pod, uid)
        state = pod.states.get(asked.container) if pod is not None else None
        return state is not None and state.attempt == attempt and state.status == "running"

    async def _direct(self, asked: Asked) -> web.Response:
        """Issue a ticket with which a client on this machine may run this one command without this server."""
        pod, shim = self._running(asked)
        ticket = secrets.token_hex(16)
        try:
            await shim.allow(ticket, asked.container, asked.query.get("command", ()), asked.flag("tty"))
            if client := asked.first("pod"):
                exec_sockets.show(self._exec_directory, pod_specs.uid_of(pod.obj), client)
        except ShimError as problem:
            raise Refused(500, str(problem)) from None
        except (ValueError, OSError) as problem:
            raise Refused(400, f"cannot show the pod's socket to the requesting pod: {problem}") from None
        given = {"socket": exec_sockets.name_of(pod_specs.uid_of(pod.obj)), "ticket": ticket}
        return web.Response(body=msgspec.json.encode(given), content_type="application/json")

    # Upgraded connections

    async def upgraded(self, upgrade: Upgrade) -> None:
        try:
            asked = _admitted(upgrade.head.target, upgrade.certificate)
            if asked.verb == "portForward":
                await self._forward(upgrade, asked)
            elif asked.verb in ("exec", "attach"):
                await self._command(upgrade, asked)
            else:
                raise Refused(400, "this path has nothing to upgrade to")
        except Refused as refused:
            await upgrade.duplex.write(plain_response(refused.code, refused.message))

    async def _command(self, upgrade: Upgrade, asked: Asked) -> None:
        pod, shim = self._running(asked)
        wanted, words = asked.wanted, asked.query.get("command", ())
        if asked.verb == "attach":
            # Whether there is a terminal was decided when the container started.
            spec = pod_specs.container_of(pod.obj, asked.container) or {}
            wanted = replace(wanted, tty=bool(spec.get("tty")), stderr=wanted.stderr and not spec.get("tty"))
        if not (wanted.stdin or wanted.stdout or wanted.stderr):
            raise Refused(400, "you must specify at least 1 of stdin, stdout, stderr")

        async def run(command: Command) -> Status:
            if asked.verb == "attach":
                return await commands.attach(shim, asked.container, wanted, command)
            return await commands.execute(shim, asked.container, words, wanted, command)

        await channels.serve(upgrade.head, upgrade.duplex, wanted, run)

    async def _forward(self, upgrade: Upgrade, asked: Asked) -> None:
        pod = self._with_containers(asked)
        if pod.shim is None:
            raise Refused(500, f'pod not found ("{asked.pod}_{asked.namespace}")')
        shim = pod.shim
        # Without a network of its own a pod has a loopback address of its own.
        host = pod.address if pod.address.startswith("127.") else "127.0.0.1"

        async def dial(port: int) -> Duplex:
            try:
                end = await shim.socket("tcp")
            except ShimError as problem:
                raise OSError(str(problem)) from None
            try:
                end.setblocking(False)
                await asyncio.get_running_loop().sock_connect(end, (host, port))
                return Socket(*await asyncio.open_connection(sock=end))
            except BaseException:
                end.close()
                raise

        await forwarding.serve(upgrade.head, upgrade.duplex, dial, f"{asked.pod}, uid {pod_specs.uid_of(pod.obj)}")

    # Finding pods

    def _found(self, asked: Asked) -> HostedPod:
        pod = self._pods.find(asked.namespace, asked.pod, asked.uid)
        if pod is None:
            raise Refused(404, "pod does not exist")
        return pod

    def _with_containers(self, asked: Asked) -> HostedPod:
        pod = self._found(asked)
        if pod.is_mirror:
            raise Refused(400, _MIRROR.format(asked.pod))
        return pod

    def _running(self, asked: Asked) -> tuple[HostedPod, PodShim]:
        pod = self._with_containers(asked)
        if pod.shim is None or not is_running(pod, asked.container):
            if asked.verb == "attach":
                raise Refused(500, f"container {asked.container} not found in pod {asked.pod}_{asked.namespace}")
            raise Refused(500, f'container not found ("{asked.container}")')
        return pod, pod.shim


def _admitted(target: str, certificate: bytes | None) -> Asked:
    """The parsed request, if its path exists and the caller may use it."""
    asked = paths.parse(target)
    if asked is not None and asked.verb == "/healthz":
        return asked
    user = user_of_der(certificate)
    if user is None:
        raise Refused(401, "Unauthorized")
    if MASTERS not in user.groups:
        raise Refused(403, f"Forbidden (user={user.name}, verb=get, resource=nodes, subresource=proxy)")
    if asked is None:
        raise Refused(404, "404 page not found")
    return asked
