# SPDX-License-Identifier: Apache-2.0
"""How soon a launcher learns of a new host: `tide up` with its operator, real pods, one more worker at a time.

The launcher itself writes down when its discovery script has changed. The moments before are a client's: when it sent
the change of the replicas, and when it saw that the new pod is ready. All clocks are this machine's own.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

import clusters
import podlife
from machine import Figures, at

from springtide.kube.client import Client
from springtide.kube.informer import Informer
from springtide.kube.request import Request, Scope
from springtide.kube.resources import PODS, Key, Obj, Resource

MPIJOBS = Resource("kubeflow.org", "v1", "mpijobs", "MPIJob")
NAME = Key("default", "grows")
CHANGES = 30
FIRST = 1
PATIENCE = 60.0
AGAIN = 0.02

SCRIPT = "/etc/mpi/discover_hosts.sh"
LAUNCHER = f"""
while :; do
  mapfile -t now < {SCRIPT}
  if [ "${{now[*]}}" != "$before" ]; then echo $EPOCHREALTIME $({SCRIPT} | wc -l); before="${{now[*]}}"; fi
  sleep 0.01
done"""
"""Looks into the script's text, which takes no other process, and runs it when that is new."""


def _job() -> Obj:
    def role(script: str, replicas: int) -> Obj:
        return {"replicas": replicas, "template": {"spec": podlife.pod("", script)["spec"]}}

    return {
        "apiVersion": MPIJOBS.api_version,
        "kind": MPIJOBS.kind,
        "metadata": {"name": NAME.name, "namespace": NAME.namespace},
        "spec": {
            "elasticPolicy": {"minReplicas": FIRST, "maxReplicas": FIRST + CHANGES},
            "mpiReplicaSpecs": {"Launcher": role(LAUNCHER, 1), "Worker": role("exec sleep 1000", FIRST)},
        },
    }


async def measure() -> Figures:
    with clusters.embedded() as cluster:
        async with await Client.connect(str(cluster.directory.kubeconfig)) as client:
            pods = Informer(client, PODS, Scope(NAME.namespace))
            following = asyncio.create_task(pods.run())
            try:
                return await _grown(client, pods)
            finally:
                following.cancel()
                with suppress(asyncio.CancelledError):
                    await following


async def _grown(client: Client, pods: Informer[Obj]) -> Figures:
    ready: dict[str, float] = {}

    def look(key: Key) -> None:
        found = pods.get(key)
        conditions = found["status"].get("conditions", ()) if found else ()
        if any(each["type"] == "Ready" and each["status"] == "True" for each in conditions):
            ready.setdefault(key.name, time.time())

    pods.on_change(look)
    await client.create(MPIJOBS, _job())
    await _until(partial(_listed, client, FIRST))
    from_change, from_ready = [], []
    for number in range(FIRST, FIRST + CHANGES):
        began = time.time()
        body = {"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": number + 1}}}}
        await client.patch(MPIJOBS, NAME, body)
        moment = await _until(partial(_listed, client, number + 1))
        from_change.append((moment - began) * 1000)
        from_ready.append((moment - ready[f"{NAME.name}-worker-{number}"]) * 1000)
    return {
        "replica change to the launcher's script, p50 ms": statistics.median(from_change),
        "replica change to the launcher's script, p99 ms": at(from_change, 0.99),
        "new pod ready to the launcher's script, p50 ms": statistics.median(from_ready),
        "new pod ready to the launcher's script, p99 ms": at(from_ready, 0.99),
    }


async def _listed(client: Client, size: int) -> float | None:
    """When the launcher's script first had so many hosts, by the launcher's own words."""
    path = f"/api/v1/namespaces/{NAME.namespace}/pods/{NAME.name}-launcher/log"
    launcher = await client.find(PODS, Key(NAME.namespace, f"{NAME.name}-launcher"))
    if launcher is None or launcher["status"].get("phase") != "Running":
        return None
    answer = await client.raw(Request("GET", path))
    for moment, count in (line.split() for line in answer.body.decode().splitlines()):
        if int(count) == size:
            return float(moment)
    return None


async def _until(look: Callable[[], Awaitable[float | None]]) -> float:
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                moment = await look()
                if moment is not None:
                    return moment
                await asyncio.sleep(AGAIN)
    except TimeoutError:
        raise SystemExit(f"the launcher's script has not changed after {PATIENCE:.0f} s") from None
