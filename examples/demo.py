# SPDX-License-Identifier: Apache-2.0
"""`make demo`: an embedded cluster from nothing, a custom resource watched live, and the end of it.

Everything here goes over HTTPS with the cluster's kubeconfig, as any Kubernetes client would. Until training jobs run
here, a `TrainingJob` is resized by hand and a watcher shows what it sees.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from contextlib import aclosing
from pathlib import Path

from springtide.kube.client import Client
from springtide.kube.errors import Invalid
from springtide.kube.request import Scope
from springtide.kube.resources import CONFIGMAPS, CUSTOMRESOURCEDEFINITIONS, Key, Obj, Resource
from springtide.kube.watch import Change, Decoder, watch
from springtide.local import cluster

JOBS = Resource("demo.springtide.dev", "v1", "trainingjobs", "TrainingJob")
NAME = Key("default", "mnist")

DEFINITION: Obj = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"{JOBS.plural}.{JOBS.group}"},
    "spec": {
        "group": JOBS.group,
        "scope": "Namespaced",
        "names": {"plural": JOBS.plural, "kind": JOBS.kind, "shortNames": ["tj"]},
        "versions": [
            {
                "name": JOBS.version,
                "served": True,
                "storage": True,
                "subresources": {
                    "scale": {"specReplicasPath": ".spec.workers", "statusReplicasPath": ".status.workers"}
                },
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "workers": {"type": "integer", "minimum": 1, "maximum": 8, "default": 2}
                                },
                            },
                            "status": {"type": "object", "properties": {"workers": {"type": "integer"}}},
                        },
                    }
                },
            }
        ],
    },
}


def say(text: str) -> None:
    print(f"{time.monotonic() - BEGAN:6.2f} s  {text}", flush=True)


async def main() -> None:
    with tempfile.TemporaryDirectory(prefix="springtide-demo-") as scratch:
        say("starting an embedded cluster: no root, no containers, nothing but Python")
        async with cluster.running(cluster.Options(Path(scratch) / "cluster", "demo", port=0)) as found:
            say(f"it is up at {found.url} and speaks the Kubernetes API; stock kubectl works")
            async with await Client.connect(str(found.directory.kubeconfig)) as client:
                await resize_while_watched(client)
        say("the cluster is down and its files are gone. For one of your own: .venv/bin/tide up")


async def resize_while_watched(client: Client) -> None:
    await client.create(CUSTOMRESOURCEDEFINITIONS, DEFINITION)
    await until_served(client)
    say("a new kind, TrainingJob, is served")
    watcher = asyncio.create_task(show_changes(client))
    await client.create(JOBS, JOBS.describe(NAME) | {"spec": {}})
    for workers in (4, 8, 3):
        await asyncio.sleep(0.3)
        await client.patch(JOBS, NAME, {"spec": {"replicas": workers}}, subresource="scale")
    try:
        await client.patch(JOBS, NAME, {"spec": {"workers": 99}})
    except Invalid as error:
        say(f"99 workers are refused: {error}")
    await client.create(CONFIGMAPS, CONFIGMAPS.describe(Key("default", "hosts")) | {"data": {"hostfile": "w0\nw1\n"}})
    await client.delete(JOBS, NAME)
    await watcher


async def until_served(client: Client) -> None:
    decode = Decoder[Obj](dict, CUSTOMRESOURCEDEFINITIONS)
    async with aclosing(watch(client, CUSTOMRESOURCEDEFINITIONS, Scope(), decode)) as events:
        async for event in events:
            conditions = event.object["status"].get("conditions") or () if isinstance(event, Change) else ()
            if any(one["type"] == "Established" and one["status"] == "True" for one in conditions):
                return


async def show_changes(client: Client) -> None:
    async with aclosing(watch(client, JOBS, Scope(), Decoder[Obj](dict, JOBS))) as events:
        async for event in events:
            if isinstance(event, Change):
                workers = event.object["spec"]["workers"]
                say(f"  watcher: {event.type:<8} {event.key}  workers {'█' * workers} {workers}")
                if event.type == "DELETED":
                    return


BEGAN = time.monotonic()
if __name__ == "__main__":
    asyncio.run(main())
