# SPDX-License-Identifier: Apache-2.0
"""The TensorBoard of a job, and where it can be reached.

A port of this machine that one of the user's processes forwards to it comes first. Otherwise it is that of its Service,
as Arena says; the embedded cluster opens no ports on its nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from springtide.cli.errors import ExitCode, Failure
from springtide.cli.jobs import finding
from springtide.cli.jobs.embedded import is_embedded
from springtide.cli.jobs.tensorboard import forwarded_ports
from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.request import Scope
from springtide.kube.resources import DEPLOYMENTS, NODES, SERVICES, Key
from springtide.messages import text
from springtide.views import tensorboards
from springtide.views.tensorboards import Obj


class Deployed(NamedTuple):
    """The Deployment of a TensorBoard."""

    key: Key
    uid: str
    job: str


class Reached(NamedTuple):
    exists: bool
    url: str
    """Empty: nothing forwards to it, or it cannot be known."""


async def deployed(client: Client, namespace: str, job: str) -> Deployed:
    """Failure if there is no such job, or if it has no TensorBoard."""
    found = await _deployments(client, namespace, job)
    if not found:
        await finding.find(client, namespace, job)
        raise Failure(
            text("The job {name} has no TensorBoard.", name=job),
            hint=text("submit it with: {flags}", flags="--tensorboard --logdir DIRECTORY"),
            code=ExitCode.NOT_FOUND,
        )
    return found[0]


async def reached(client: Client, job: Key) -> Reached:
    try:
        if forwarded_ports.any_are_held():
            for each in await _deployments(client, job.namespace, job.name):
                if (port := forwarded_ports.port(each.uid)) is not None:
                    return Reached(True, tensorboards.address(port))
        service = await client.find(SERVICES, Key(job.namespace, f"{job.name}-tensorboard"))
        if service is None:
            return Reached(False, "")
        if await is_embedded(client):
            return Reached(True, "")
        return Reached(True, _address(service, (await client.list(NODES)).items))
    except errors.Forbidden:
        return Reached(False, "")


async def _deployments(client: Client, namespace: str, job: str) -> list[Deployed]:
    scope = Scope(namespace, labels=tensorboards.selector(job))
    found = [each for each in (await client.list(DEPLOYMENTS, scope)).items if is_there(each)]
    return [Deployed(Key.of(each), str(each["metadata"]["uid"]), job) for each in found]


def is_there(deployment: Obj) -> bool:
    """Whether it is not being deleted."""
    return not deployment["metadata"].get("deletionTimestamp")


def _address(service: Obj, nodes: Iterable[Mapping[str, Any]]) -> str:
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
