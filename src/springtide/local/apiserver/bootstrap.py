# SPDX-License-Identifier: Apache-2.0
"""Objects that every cluster has: namespaces, roles, priority classes, the `kubernetes` service.

Runs at every start and is repeated until all of them exist; reverts no more of a user's changes than kube-apiserver
does.
"""

from __future__ import annotations

import asyncio
import ipaddress
from typing import Any

from springtide.kube.client import Client
from springtide.kube.errors import AlreadyExists
from springtide.kube.resources import (
    CLUSTERROLEBINDINGS,
    CLUSTERROLES,
    NAMESPACES,
    PRIORITYCLASSES,
    ROLEBINDINGS,
    ROLES,
    SERVICES,
    Key,
    Resource,
)
from springtide.local.access.bootstrap import bootstrap_objects, reconciled
from springtide.local.admission.priorities import system_classes

Obj = dict[str, Any]

FIRST_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
_PLURALS = {resource.kind: resource for resource in (CLUSTERROLES, CLUSTERROLEBINDINGS, ROLES, ROLEBINDINGS)}


async def bootstrap(client: Client, service_network: str) -> None:
    await asyncio.gather(*(_ensure(client, NAMESPACES, _named(name)) for name in FIRST_NAMESPACES))
    await asyncio.gather(
        *(_ensure(client, PRIORITYCLASSES, obj) for obj in system_classes()),
        *(_reconcile(client, obj) for obj in bootstrap_objects()),
        _ensure(client, SERVICES, _kubernetes_service(service_network)),
    )


def _named(name: str) -> Obj:
    return {"metadata": {"name": name}}


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
