# SPDX-License-Identifier: Apache-2.0
"""What a cluster has before anybody asks: namespaces, roles, priority classes, the `kubernetes` service.

Run at every start and repeated until all of it is there; nothing a user changed is taken back beyond what the real
server takes back.
"""

from __future__ import annotations

import asyncio
import ipaddress
from typing import Any

from springtide.kube.client import Client
from springtide.kube.errors import AlreadyExists
from springtide.kube.resources import Key, Resource
from springtide.local.access.bootstrap import bootstrap_objects, reconciled

Obj = dict[str, Any]

NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
_RBAC = "rbac.authorization.k8s.io"
_PLURALS = {
    "ClusterRole": Resource(_RBAC, "v1", "clusterroles", "ClusterRole", namespaced=False),
    "ClusterRoleBinding": Resource(_RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False),
    "Role": Resource(_RBAC, "v1", "roles", "Role"),
    "RoleBinding": Resource(_RBAC, "v1", "rolebindings", "RoleBinding"),
}
_NAMESPACE = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
_PRIORITY = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)
_SERVICE = Resource("", "v1", "services", "Service")
_SYSTEM_PRIORITIES = (
    (
        "system-node-critical",
        2000001000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    (
        "system-cluster-critical",
        2000000000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
)


async def bootstrap(client: Client, service_network: str) -> None:
    await asyncio.gather(*(_ensure(client, _NAMESPACE, _named(name)) for name in NAMESPACES))
    await asyncio.gather(
        *(_ensure(client, _PRIORITY, _priority(*entry)) for entry in _SYSTEM_PRIORITIES),
        *(_reconcile(client, obj) for obj in bootstrap_objects()),
        _ensure(client, _SERVICE, _kubernetes_service(service_network)),
    )


def _named(name: str) -> Obj:
    return {"metadata": {"name": name}}


def _priority(name: str, value: int, description: str) -> Obj:
    return _named(name) | {"value": value, "description": description}


def _kubernetes_service(network: str) -> Obj:
    labels = {"component": "apiserver", "provider": "kubernetes"}
    return {
        "metadata": {"name": "kubernetes", "namespace": "default", "labels": labels},
        "spec": {
            "clusterIP": str(ipaddress.ip_network(network)[1]),
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
        },
    }


async def _ensure(client: Client, resource: Resource, obj: Obj) -> None:
    if await client.find(resource, Key.of(obj)) is not None:
        return
    try:
        await client.create(resource, resource.describe(Key.of(obj)) | obj)
    except AlreadyExists:
        return


async def _reconcile(client: Client, wanted: Obj) -> None:
    resource = _PLURALS[wanted["kind"]]
    existing = await client.find(resource, Key.of(wanted))
    stored = reconciled(wanted, existing)
    if stored is None:
        return
    if existing is None:
        await _ensure(client, resource, stored)
    else:
        await client.replace(resource, stored)
