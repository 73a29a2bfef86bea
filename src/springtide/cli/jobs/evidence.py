# SPDX-License-Identifier: Apache-2.0
"""Reads what explains a job's state: the job and its pods always, anything else only where it can be the cause.

What the user may not read, or the cluster does not have, is left out of the explanation.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, TypeVar

from springtide.cli.jobs import finding
from springtide.cli.jobs.finding import Job
from springtide.kube import errors, request
from springtide.kube.client import Client
from springtide.kube.request import EVERYTHING, Scope
from springtide.kube.resources import (
    EVENTS,
    LEASES,
    NODES,
    PERSISTENTVOLUMECLAIMS,
    PODS,
    STORAGECLASSES,
    Key,
    Obj,
    Resource,
)
from springtide.messages import text
from springtide.views.explaining import Evidence, Fact, Operator, asking, reading
from springtide.views.explaining.evidence import Obj as AnyObj
from springtide.views.pages.ages import instant

T = TypeVar("T")
LEASE: Final = "mpi-operator"
_EXPIRED_SINCE: Final = timedelta(seconds=30)
"""A lease is renewed every few seconds; clocks of different machines may differ a little."""
_FEW: Final = 3
_LINES: Final = 5


async def gathered(client: Client, job: Job) -> Evidence:
    now, pods = datetime.now(UTC), await finding.pods(client, job)
    bare = Evidence(job=job.obj, now=now, pods=pods)
    events = await _events(client, job.key.namespace, job.uid)
    for name in asking.pods_with_events(bare)[:_FEW]:
        events += await _events(client, job.key.namespace, name)
    nodes = await _listed(client, NODES) if asking.needs_nodes(bare) else None
    claims, classes = None, None
    if names := asking.claims(bare)[:_FEW]:
        found = {name: await _claim(client, Key(job.key.namespace, name)) for name in names}
        claims = {name: claim for name, claim in found.items() if claim is not _UNKNOWN}
        for claim in claims.values():
            events += await _events(client, job.key.namespace, str(claim["metadata"]["uid"])) if claim else []
        classes = await _listed(client, STORAGECLASSES)
    neighbours = await _listed(client, PODS) if asking.needs_neighbours(bare) else None
    return Evidence(
        job=job.obj,
        now=now,
        pods=pods,
        events=events,
        nodes=nodes,
        neighbours=neighbours,
        claims=claims,
        storage_classes=classes,
        operator=await operator(client, now) if asking.needs_operator(bare) else None,
        logs={
            name: log
            for name, container, last in asking.logs(bare)[:_FEW]
            if (log := await _log(client, Key(job.key.namespace, name), container, last))
        },
        embedded=is_embedded(nodes or ()),
    )


async def operator(client: Client, now: datetime) -> Operator | None:
    """The operator whose lease was renewed last, or without a lease, as on an embedded cluster, that with a pod. None
    if the user may read neither."""
    leases = await _listed(client, LEASES, Scope(fields=f"metadata.name={LEASE}"))
    if leases:
        return _holder(max(leases, key=lambda lease: str((lease.get("spec") or {}).get("renewTime") or "")), now)
    pods = await _listed(client, PODS, Scope(labels=f"app={LEASE}"))
    for pod in pods or ():
        phase = str((pod.get("status") or {}).get("phase"))
        return Operator(phase == "Running", Fact(f"pod/{Key.of(pod)}", "status.phase", phase))
    if leases is None or pods is None:
        return None
    return Operator(False, Fact(f"lease/{LEASE}", "metadata", text("no such lease in any namespace")))


def _holder(lease: Obj, now: datetime) -> Operator:
    spec = lease.get("spec") or {}
    renewed, holder = instant(spec.get("renewTime")), str(spec.get("holderIdentity") or "")
    lasts = timedelta(seconds=float(spec.get("leaseDurationSeconds") or 0)) + _EXPIRED_SINCE
    where, field = f"lease/{Key.of(lease)}", "spec.renewTime"
    if not holder or renewed is None:
        return Operator(False, Fact(where, "spec.holderIdentity", text("nobody")))
    said = text("{holder} renewed it at {at}", holder=holder, at=reading.clock(renewed, now))
    return Operator(now - renewed < lasts, Fact(where, field, said))


def is_embedded(nodes: Sequence[AnyObj]) -> bool:
    """Whether the nodes are those of an embedded cluster."""
    infos = ((node.get("status") or {}).get("nodeInfo") or {} for node in nodes)
    return any(str(info.get("containerRuntimeVersion") or "").startswith("springtide://") for info in infos)


_UNKNOWN: Final[Obj] = {}


async def _claim(client: Client, key: Key) -> Obj | None:
    """None for a claim that does not exist."""
    try:
        return await client.find(PERSISTENTVOLUMECLAIMS, key)
    except errors.Forbidden:
        return _UNKNOWN


async def _events(client: Client, namespace: str, uid: str) -> list[Obj]:
    return await _listed(client, EVENTS, Scope(namespace, fields=f"involvedObject.uid={uid}")) or []


async def _listed(client: Client, resource: Resource, scope: Scope = EVERYTHING) -> list[Obj] | None:
    """None if the user may not read them, or the cluster does not have them."""
    found = await _if_allowed(client.list(resource, scope))
    return None if found is None else found.items


async def _log(client: Client, key: Key, container: str, last: bool) -> str:
    """The last lines of a container: of its last run before a restart, or of the one run it had."""
    query = {"container": container, "tailLines": str(_LINES)} | ({"previous": "true"} if last else {})
    try:
        response = await _if_allowed(client.raw(request.get(PODS, key, "log", query)))
    except errors.BadRequest:
        return ""  # the container has no log any more
    return "" if response is None else response.body.decode(errors="replace")


async def _if_allowed(asked: Awaitable[T]) -> T | None:
    try:
        return await asked
    except (errors.Forbidden, errors.NotFound):
        return None
