# SPDX-License-Identifier: Apache-2.0
"""Publishes the cluster's CA in a ConfigMap of every namespace, so that pods can verify the API server.

Changes to it are reverted; foreign annotations and labels are kept.
"""

from __future__ import annotations

from springtide.kube.client import Client
from springtide.kube.controller import Controller, Result
from springtide.kube.informer import Informers
from springtide.kube.request import Scope
from springtide.kube.resources import CONFIGMAPS, NAMESPACES, Key, Obj
from springtide.local.controller_manager.access.service_accounts import create_in_namespace, is_active

NAME = "kube-root-ca.crt"
DESCRIPTION = "kubernetes.io/description"
_TEXT = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)
_OURS = Scope(fields=f"metadata.name={NAME}")


def wanted(namespace: str, authority: str) -> Obj:
    obj = CONFIGMAPS.describe(Key(namespace, NAME))
    obj["metadata"]["annotations"] = {DESCRIPTION: _TEXT}
    return obj | {"data": {"ca.crt": authority}}


def repaired(present: Obj, authority: str) -> Obj | None:
    """The corrected ConfigMap, or None if it is correct."""
    metadata = present["metadata"]
    annotations = metadata.get("annotations") or {}
    data = {"ca.crt": authority}
    if present.get("data") == data and annotations.get(DESCRIPTION):
        return None
    return present | {"data": data, "metadata": metadata | {"annotations": annotations | {DESCRIPTION: _TEXT}}}


def controller(informers: Informers, client: Client, authority: str) -> Controller[Key]:
    async def reconcile(namespace: Key) -> Result | None:
        key = Key(namespace.name, NAME)
        present = maps.get(key)
        if present is None:
            if is_active(namespaces.get(namespace)):
                await create_in_namespace(client, CONFIGMAPS, wanted(namespace.name, authority))
        elif better := repaired(present, authority):
            await client.replace(CONFIGMAPS, better)
        return None

    found: Controller[Key] = Controller("root CA", reconcile, workers=2)
    namespaces = informers.of(NAMESPACES)
    maps = informers.of(CONFIGMAPS, _OURS)
    found.watches(namespaces)
    found.watches(maps, keys=lambda present: [Key("", present["metadata"]["namespace"])])
    return found
