# SPDX-License-Identifier: Apache-2.0
"""What a crash, a full disk or an unusual request leaves behind: nothing that stays for ever, and no wrong answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.integration.apiserver.http1 import connected, until

from springtide.kube.errors import MethodNotAllowed
from springtide.kube.request import DeleteOptions, Patch
from springtide.kube.resources import CUSTOMRESOURCEDEFINITIONS, NAMESPACES, PODS, Key, Obj, Resource
from springtide.local.apiserver.audit import Audit
from springtide.local.cluster import Cluster
from springtide.local.store import backend as stored

pytestmark = pytest.mark.asyncio(loop_scope="module")

SPACE = "/api/v1/namespaces/default"
POD = {"spec": {"nodeName": "far", "containers": [{"name": "c", "image": "x"}]}}
GHOSTS = Resource("rare.io", "v1", "ghosts", "Ghost", namespaced=True)


async def test_a_pod_whose_grace_ended_in_a_crash_goes_with_the_next_deletion(cluster: Cluster) -> None:
    client, key, store = cluster.client("tester"), Key("default", "halfway"), cluster.server.store
    await client.create(PODS, PODS.describe(key) | POD)
    await client.delete(PODS, key)
    record = store.get(stored.Key("pods", "default", "halfway"))
    assert record is not None
    pod = json.loads(record.body)
    pod["metadata"]["deletionGracePeriodSeconds"] = 0  # the first of the two writes that end a pod
    await store.write(record.key, record, lambda revision: _at(pod, revision))
    await client.delete(PODS, key, DeleteOptions(grace=0))
    assert await client.find(PODS, key) is None


def _at(obj: dict[str, dict[str, str]], revision: int) -> bytes:
    obj["metadata"]["resourceVersion"] = str(revision)
    return json.dumps(obj).encode()


async def test_objects_of_a_definition_that_serves_nothing_go_with_it(cluster: Cluster) -> None:
    client, key = cluster.client("tester"), Key("", "ghosts.rare.io")
    await client.create(CUSTOMRESOURCEDEFINITIONS, _definition(key))
    registry, store = cluster.server.registry, cluster.server.store
    await until(lambda: registry.find("rare.io", "v1", "ghosts") is not None)
    await client.create(GHOSTS, GHOSTS.describe(Key("default", "g")))
    hidden = [{"op": "replace", "path": "/spec/versions/0/served", "value": False}]
    await client.patch(CUSTOMRESOURCEDEFINITIONS, key, hidden, Patch.JSON)
    await until(lambda: registry.find("rare.io", "v1", "ghosts") is None)
    await client.delete(CUSTOMRESOURCEDEFINITIONS, key)
    definition = stored.Key("customresourcedefinitions.apiextensions.k8s.io", "", key.name)
    await until(lambda: store.get(definition) is None)
    assert not store.list("ghosts.rare.io")


async def test_a_definition_on_its_way_out_takes_in_nothing_new(cluster: Cluster) -> None:
    client, key = cluster.client("tester"), Key("", "ghosts.rare.io")
    await client.create(CUSTOMRESOURCEDEFINITIONS, _definition(key))
    registry = cluster.server.registry
    await until(lambda: registry.find("rare.io", "v1", "ghosts") is not None)
    held = GHOSTS.describe(Key("default", "held"))
    held["metadata"]["finalizers"] = ["rare.io/hold"]
    await client.create(GHOSTS, held)
    await client.delete(CUSTOMRESOURCEDEFINITIONS, key)
    with pytest.raises(MethodNotAllowed, match="custom resource definition is terminating"):
        await client.create(GHOSTS, GHOSTS.describe(Key("default", "late")))
    await client.patch(GHOSTS, Key("default", "held"), {"metadata": {"finalizers": None}}, Patch.MERGE)
    await until(lambda: registry.find("rare.io", "v1", "ghosts") is None)


def _definition(key: Key) -> Obj:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    names = {"plural": "ghosts", "kind": "Ghost"}
    spec = {"group": "rare.io", "scope": "Namespaced", "names": names, "versions": [version]}
    return CUSTOMRESOURCEDEFINITIONS.describe(key) | {"spec": spec}


async def test_an_eviction_on_trial_evicts_nobody_whatever_its_body_says(cluster: Cluster) -> None:
    key = Key("default", "tried")
    await cluster.client("tester").create(PODS, PODS.describe(key) | POD)
    body = json.dumps({"metadata": {"name": "tried"}, "deleteOptions": {"gracePeriodSeconds": 0}}).encode()
    async with connected(cluster) as connection:
        answer = await connection.ask(
            "POST", f"{SPACE}/pods/tried/eviction?dryRun=All", "Content-Type: application/json", body=body
        )
    assert answer.code == 201
    left = await cluster.client("tester").get(PODS, key)
    assert "deletionTimestamp" not in left["metadata"]


async def test_a_watch_in_an_impossible_form_is_refused(cluster: Cluster) -> None:
    form = "Accept: application/json;as=Table;g=meta.k8s.io;v=v1"
    async with connected(cluster) as connection:
        answer = await connection.ask("GET", f"{SPACE}/configmaps?watch=1&includeObject=bogus", form)
    assert answer.code == 400


async def test_finalizers_of_one_namespace_are_not_set_by_the_body_of_another(cluster: Cluster) -> None:
    async with connected(cluster) as connection:
        body = json.dumps(NAMESPACES.describe(Key("", "kube-public"))).encode()
        answer = await connection.ask("PUT", f"{SPACE}/finalize", "Content-Type: application/json", body=body)
    assert answer.code == 400
    assert "does not match the name on the URL" in answer.document["message"]


async def test_paths_that_lead_nowhere_are_not_counted_by_name(cluster: Cluster) -> None:
    async with connected(cluster) as connection:
        await connection.ask("GET", "/api/v1/namespaces/default/nonesuch", "Impersonate-User: nobody")
    counted = cluster.server.measures.requests
    assert ("GET", "", 403) in counted
    assert not [resource for _, resource, _ in counted if resource == "nonesuch"]


async def test_a_full_disk_under_the_audit_log_fails_no_request(caplog: pytest.LogCaptureFixture) -> None:
    audit = Audit(Path("/dev/full"))
    audit.line("POST", "/x", None, 201)
    audit.close()
    assert "no audit line for POST /x" in caplog.text
