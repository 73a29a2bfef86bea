# SPDX-License-Identifier: Apache-2.0
"""The address of a job's TensorBoard, from its Service."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.resources import NODES, SERVICES, Key

Obj = Mapping[str, Any]


async def address(client: Client, job: Key) -> str:
    """Empty: it has none, or it cannot be reached."""
    try:
        service = await client.find(SERVICES, Key(job.namespace, f"{job.name}-tensorboard"))
        if service is None:
            return ""
        return _address(service, (await client.list(NODES)).items)
    except errors.Forbidden:
        return ""


def _address(service: Obj, nodes: Iterable[Obj]) -> str:
    port: Obj = next(iter(service["spec"].get("ports") or ()), {})
    balancer = (service.get("status") or {}).get("loadBalancer") or {}
    for point in balancer.get("ingress") or ():
        if point.get("ip"):
            return f"http://{point['ip']}:{port.get('port')}"
    hosts = (_internal_ip(node) for node in nodes if _is_ready(node))
    host = next((host for host in hosts if host), "")
    return f"http://{host}:{port['nodePort']}" if host and port.get("nodePort") else ""


def _is_ready(node: Obj) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _internal_ip(node: Obj) -> str:
    addresses = (node.get("status") or {}).get("addresses") or ()
    return next((str(each["address"]) for each in addresses if each["type"] == "InternalIP"), "")
