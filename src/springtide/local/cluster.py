# SPDX-License-Identifier: Apache-2.0
"""One embedded cluster's server: certificates, store, API server, listeners, and the controllers beside it.

The server process of `tide up` and the tests start it with `async with running(options)`; nodes, and with them the
scheduler and the pod network, exist only with `tide up`. In that network the server listens on the address of the
service `kubernetes`, at port 443 and at its own.

All files are under one data directory; after a restart, or a kill at any moment, no acknowledged write is lost.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from springtide.kube.client import Client
from springtide.local.access import kubeconfig, pki
from springtide.local.access.identity import MASTERS, User
from springtide.local.access.jws import SigningKey
from springtide.local.access.tokens import ServiceAccountTokens
from springtide.local.apiserver.audit import Audit
from springtide.local.apiserver.bootstrap import bootstrap
from springtide.local.apiserver.edge import Edge
from springtide.local.apiserver.loopback import Loopback
from springtide.local.apiserver.server import SERVICE_NETWORK, ApiServer, Settings
from springtide.local.controller_manager.runner import Facts, run_controllers
from springtide.local.datadir import BACKLOG, DEFAULT_PORT, LOOPBACK, DataDir
from springtide.local.network import dialing, netd_sync
from springtide.local.scheduler import scheduler
from springtide.local.store.backend import Key
from springtide.local.store.opening import open_store
from springtide.local.streams import takeover
from springtide.serving.listening import Listener

logger = logging.getLogger(__name__)

HTTPS = 443
_LOOK = 0.1
_FAREWELL = 0.2  # seconds for requests in progress when the server stops; watches never end by themselves


@dataclass(frozen=True)
class Options:
    data_dir: Path
    name: str = "springtide"
    port: int = DEFAULT_PORT
    """0 takes any free port."""
    audit: bool = False
    controllers: bool = True
    listener: socket.socket | None = None
    """A bound socket in place of the port, from the holder of the directory's lock: connections wait while the server
    is restarted, instead of being refused.
    """
    scheduler: scheduler.Options | None = None
    """None schedules nothing."""
    netd_socket: Path | None = None
    """The path of netd's socket, if netd is going to run; None without a pod network."""
    accept_loss: bool = False
    """Whether to serve a database that has lost objects."""


@dataclass
class Cluster:
    options: Options
    directory: DataDir
    server: ApiServer
    port: int

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def damaged(self) -> Sequence[Key]:
        """Objects that cannot be read back from disk."""
        return self.server.store.damaged

    def client(self, user: str) -> Client:
        """A client in this process with all rights and the user name `user`."""
        return Client(Loopback(self.server.dispatcher, User(user, groups=(MASTERS,))))


@asynccontextmanager
async def running(options: Options) -> AsyncIterator[Cluster]:
    """Yields when the server answers and has its bootstrap objects. Raises InUseError, OpenError or OSError."""
    async with AsyncExitStack() as stack:
        directory = DataDir(options.data_dir)
        if options.listener is None:
            directory.acquire()
        stack.callback(directory.release)
        directory.acquire_server()
        listener = options.listener or socket.create_server((LOOPBACK, options.port), backlog=BACKLOG)
        stack.callback(listener.close)
        port = listener.getsockname()[1]
        authority = pki.Authority(directory.pki, datetime.now(UTC))
        service_address = str(ipaddress.ip_network(SERVICE_NETWORK)[1])
        context = pki.server_context(pki.server_pair(authority, service_address), authority.certificate)
        store = await open_store(directory.database, is_new=not directory.has_pods(), accept_loss=options.accept_loss)
        stack.push_async_callback(store.close)
        audit = Audit(directory.audit) if options.audit else None
        if audit is not None:
            stack.callback(audit.close)
        key = SigningKey(directory.pki / "tokens.pem")
        node_tls = pki.client_context(None, pki.kubelet_client_pair(authority))
        sockets = dialing.socket_factory(options.netd_socket) if options.netd_socket is not None else None
        settings = Settings(
            f"127.0.0.1:{port}",
            node_tls=node_tls,
            audit=audit,
            sockets=sockets,
            pods_on_loopback=lambda: options.netd_socket is None or not options.netd_socket.exists(),
            data_dir=directory.path,
        )
        server = ApiServer(store, _token_maker(key), settings)
        await server.start()
        stack.push_async_callback(server.stop)
        cluster = Cluster(options, directory, server, port)
        await bootstrap(cluster.client("system:apiserver"), SERVICE_NETWORK)
        server.bootstrapped()
        front = _Front(server, context)
        stack.push_async_callback(front.close)
        front.serve(listener)
        if options.controllers:
            facts = Facts(authority.certificate.decode(), service_address, port, directory.path / "volumes")
            client = cluster.client("system:kube-controller-manager")
            _keep(stack, "controller manager", partial(run_controllers, client, facts))
        if options.scheduler is not None:
            client = cluster.client("system:kube-scheduler")
            _keep(stack, "the scheduler", partial(scheduler.run, client, options.scheduler))
        if options.netd_socket is not None:
            client = cluster.client("system:kube-proxy")
            _keep(
                stack,
                "the pods' network",
                partial(_serve_network, client, front, options.netd_socket, (service_address, port)),
            )
        directory.describe(options.name, port)
        kubeconfig.write(directory.kubeconfig, kubeconfig_entry(directory, options.name))
        yield cluster


def kubeconfig_entry(directory: DataDir, name: str) -> kubeconfig.Entry:
    """The administrator's access to the cluster that runs, or ran last, in this directory."""
    authority = pki.Authority(directory.pki, datetime.now(UTC))
    last = directory.last()
    server = f"https://127.0.0.1:{last.port if last else DEFAULT_PORT}"
    return kubeconfig.Entry(name, server, authority.certificate, pki.admin_pair(authority))


def _token_maker(key: SigningKey) -> Callable[[Callable[[str, str, str], str]], ServiceAccountTokens]:
    return lambda uid_of: ServiceAccountTokens(key, uid_of)


class _Front:
    """Serves connections on all listening sockets."""

    def __init__(self, server: ApiServer, context: ssl.SSLContext) -> None:
        self._server, self._context = server, context
        self._service = Edge(server).service()
        self._listening: list[Listener] = []

    def serve(self, listener: socket.socket) -> Listener:
        made = Listener(self._service, listener, self._context)
        self._listening.append(made)
        return made

    async def serve_pods(self, netd_socket: Path, address: str, port: int) -> None:
        """Serves on sockets in the pod network, across restarts of netd: runs until cancelled."""
        before: Listener | None = None
        async for sock in dialing.listeners(netd_socket, address, port):
            if before is not None:
                await before.close()
                self._listening.remove(before)
            before = self.serve(sock)

    async def close(self) -> None:
        for listening in self._listening:
            await listening.close()
        await takeover.stop()
        await self._service.shutdown(timeout=_FAREWELL)


async def _serve_network(client: Client, front: _Front, netd_socket: Path, service: tuple[str, int]) -> None:
    """Serves the pod network: netd's table, and the service `kubernetes`. Runs until cancelled.

    Waits for netd's socket: whether this machine allows a pod network is determined while the server starts.
    """
    while not netd_socket.exists():  # noqa: ASYNC110, ASYNC240 - from another process
        await asyncio.sleep(_LOOK)
    address, port = service
    async with asyncio.TaskGroup() as group:
        group.create_task(netd_sync.run(client, netd_socket))
        for inside in (HTTPS, port):
            group.create_task(front.serve_pods(netd_socket, address, inside))


def _keep(stack: AsyncExitStack, name: str, work: Callable[[], Awaitable[None]]) -> None:
    async def for_ever() -> None:
        while True:
            try:
                await work()
            except Exception:  # a bug in one of them must not leave the cluster without it
                logger.exception("%s failed; restarting it", name)
                await asyncio.sleep(1)

    task = asyncio.get_running_loop().create_task(for_ever(), name=name)

    async def stop() -> None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    stack.push_async_callback(stop)
