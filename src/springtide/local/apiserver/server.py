# SPDX-License-Identifier: Apache-2.0
"""The API server: all parts between a listening socket and the store.

`ApiServer` holds the parts and keeps RBAC and custom resources in sync with the stored objects. It opens no socket
itself; `cluster` binds one and `Loopback` needs none.
"""

from __future__ import annotations

import asyncio
import logging
import random
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from springtide.local.access import escalation
from springtide.local.access.authentication import Authenticator
from springtide.local.access.identity import User
from springtide.local.access.rbac import RbacIndex
from springtide.local.access.tokens import ServiceAccountTokens
from springtide.local.admission.plugins import Surroundings, default_chain
from springtide.local.admission.quotas import Charge
from springtide.local.admission.webhook_calls import HttpsCalls
from springtide.local.apiserver.audit import Audit
from springtide.local.apiserver.context import Context, StoreReader
from springtide.local.apiserver.dispatch import Dispatcher, Verb
from springtide.local.apiserver.encoding.objects import decode
from springtide.local.apiserver.following import follow
from springtide.local.apiserver.measures import Measures
from springtide.local.apiserver.nodes import kept_logs
from springtide.local.apiserver.nodes.kept_logs import KeptLogs
from springtide.local.apiserver.nodes.node_streams import NodeStreams
from springtide.local.apiserver.nodes.resource_metrics import ResourceMetrics
from springtide.local.apiserver.nodes.service_routes import service_resolver
from springtide.local.apiserver.paths import Paths
from springtide.local.apiserver.registry import built_in_definitions
from springtide.local.apiserver.registry.catalog import builtin_resources
from springtide.local.apiserver.registry.custom_resources import CustomResources
from springtide.local.apiserver.registry.resources import Registry
from springtide.local.apiserver.subresources import finalize, pods, scale
from springtide.local.apiserver.subresources.reviews import review_verbs, token_verb
from springtide.local.apiserver.verbs.patch import patch
from springtide.local.apiserver.verbs.read import get
from springtide.local.apiserver.verbs.update import update
from springtide.local.apiserver.writing.phase_times import stamp_phase
from springtide.local.apiserver.writing.quota_charges import reserve_quota
from springtide.local.apiserver.writing.service_addresses import ServiceAddresses
from springtide.local.kinds.strategy import Obj
from springtide.local.store.backend import Key, Record, Store
from springtide.local.streams.dialing import SocketFactory

SERVICE_NETWORK = "10.96.0.0/16"
log = logging.getLogger(__name__)

_AGAIN = 0.1
_RBAC = ("roles", "rolebindings", "clusterroles", "clusterrolebindings")


@dataclass
class Settings:
    address: str = "127.0.0.1:6443"
    service_network: str = SERVICE_NETWORK
    static_tokens: dict[str, User] = field(default_factory=dict)
    node_tls: ssl.SSLContext | None = None
    """Client certificate for the nodes' endpoints; with None connections to them are not verified."""
    audit: Audit | None = None
    sockets: SocketFactory | None = None
    """Makes sockets that reach pods and services; None where ordinary ones do."""
    pods_on_loopback: Callable[[], bool] = lambda: True
    """Whether pods have no network of their own; a function, because this is known only after the server's start."""
    data_dir: Path | None = None
    """The cluster's directory, with the logs of removed pods; None where there are none."""


class ApiServer:
    def __init__(
        self,
        store: Store,
        tokens: Callable[[Callable[[str, str, str], str]], ServiceAccountTokens],
        settings: Settings,
    ) -> None:
        self.store, self.audit, self.measures = store, settings.audit, Measures()
        self.authorizer = RbacIndex()
        self.tokens = tokens(self._uid_of)
        self.authenticator = Authenticator(self.tokens, settings.static_tokens)
        self.reader = StoreReader(store)
        self.registry = Registry(builtin_resources())
        self._webhooks = HttpsCalls(service_resolver(self.reader), settings.sockets)
        surroundings = Surroundings(self.reader, self._reserve, self._webhooks, self._versions_of)
        self.admission = default_chain(surroundings)
        self.context = Context(store, self.registry, self.authorizer, self.admission)
        addresses = ServiceAddresses(store, settings.service_network, random.randrange)
        self.context.before_write |= {"services": [addresses.complete], "persistentvolumes": [stamp_phase]}
        self.context.guards |= _escalation_guards(self.authorizer)
        self._ready = {"ping": True, "store": True, "poststarthook/rbac/bootstrap-roles": False}
        documents = {
            "/.well-known/openid-configuration": self.tokens.discovery(f"https://{settings.address}"),
            "/openid/v1/jwks": self.tokens.key_set(),
        }
        paths = Paths(self.context, lambda: self._ready, documents, self.measures, settings.address)
        parts = settings.node_tls, settings.audit, settings.sockets, settings.pods_on_loopback
        self.streams = NodeStreams(self.context, self.authenticator, *parts)
        self._metrics = ResourceMetrics(self.reader, self.streams.metrics_text)
        special = review_verbs(self.authenticator, self.tokens, self.authorizer) | {
            ("metrics.k8s.io", "nodes"): self._metrics.node_metrics,
            ("metrics.k8s.io", "pods"): self._metrics.pod_metrics,
            ("", "bindings"): pods.bind,
            ("apiextensions.k8s.io", "customresourcedefinitions"): built_in_definitions.handle,
        }
        subresources = _subresources(self.tokens, self.streams)
        self._kept_logs = KeptLogs(store, self.authorizer, settings.data_dir)
        own = {(kept_logs.GROUP, kept_logs.VERSION, kept_logs.RESOURCE): self._kept_logs.answer}
        self.dispatcher = Dispatcher(self.context, paths, subresources, special, own)
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Start following stored objects; returns when the objects stored so far are loaded."""
        jobs: list[Callable[[], Awaitable[None]]] = [CustomResources(self.context).run, self._metrics.run]
        jobs += [self._kept_logs.run]
        jobs += [partial(self._follow_rbac, resource) for resource in _RBAC]
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(_for_ever(job)) for job in jobs]
        await asyncio.sleep(0)

    def bootstrapped(self) -> None:
        self._ready["poststarthook/rbac/bootstrap-roles"] = True

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._webhooks.close()
        await self.streams.close()

    async def _reserve(self, charge: Charge) -> bool:
        return await reserve_quota(self.context, charge)

    def _versions_of(self, group: str, plural: str) -> list[str]:
        return [r.version for r in self.registry.all() if (r.group, r.plural) == (group, plural)]

    async def _follow_rbac(self, resource: str) -> None:
        def put(record: Record) -> None:
            self.authorizer.put(resource, decode(record.body))

        def remove(record: Record) -> None:
            self.authorizer.remove(resource, record.key.namespace, record.key.name)

        await follow(self.store, f"{resource}.rbac.authorization.k8s.io", put, remove)

    def _uid_of(self, resource: str, namespace: str, name: str) -> str:
        record = self.store.get(Key(resource, namespace, name))
        return str(decode(record.body)["metadata"]["uid"]) if record is not None else ""


async def _for_ever(job: Callable[[], Awaitable[None]]) -> None:
    """Restart the job after any failure: a server that stopped following roles would keep honouring revoked ones."""
    while True:
        try:
            await job()
        except Exception:
            log.exception("following stored objects failed; reading all of them again")
        await asyncio.sleep(_AGAIN)


def _escalation_guards(index: RbacIndex) -> dict[str, Callable[[User, Obj, Obj | None], None]]:
    """Checks that no user grants permissions that he does not have."""

    def guard(check: Callable[..., None], resource: str) -> Callable[[User, Obj, Obj | None], None]:
        return lambda user, new, old: check(index, user, resource, new, old)

    checks = {
        "roles": escalation.check_role,
        "clusterroles": escalation.check_role,
        "rolebindings": escalation.check_binding,
        "clusterrolebindings": escalation.check_binding,
    }
    return {f"{resource}.rbac.authorization.k8s.io": guard(check, resource) for resource, check in checks.items()}


def _subresources(tokens: ServiceAccountTokens, streams: NodeStreams) -> dict[tuple[str, str, str], Verb]:
    return {
        ("*", "status", "get"): get,
        ("*", "status", "update"): update,
        ("*", "status", "patch"): patch,
        ("*", "scale", "get"): scale.get,
        ("*", "scale", "update"): scale.update,
        ("*", "scale", "patch"): scale.patch,
        ("namespaces", "finalize", "update"): finalize.finalize,
        ("pods", "binding", "create"): pods.bind,
        ("pods", "eviction", "create"): pods.evict,
        ("pods", "log", "get"): streams.log,
        **{("pods", name, "*"): streams.needs_upgrade for name in ("exec", "attach", "portforward")},
        ("serviceaccounts", "token", "create"): token_verb(tokens),
    }
