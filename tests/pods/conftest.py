# SPDX-License-Identifier: Apache-2.0
"""One cluster of each kind per test process, and a namespace for each test."""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.conformance.programs import Kubectl, tool
from tests.pods.clusters import KINDS, Cluster, running
from tests.pods.spaces import FINALIZER, Space

from springtide.kube.client import Client
from springtide.kube.errors import NotFound
from springtide.kube.request import DeleteOptions, Scope
from springtide.kube.resources import NAMESPACES, PODS, SERVICEACCOUNTS, Key


@pytest.fixture(scope="session", params=KINDS)
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    if request.param == "root" and os.geteuid() != 0:
        pytest.skip("only root can start a cluster as root")
    with running(request.param) as cluster:
        yield cluster


@pytest.fixture
def embedded(cluster: Cluster) -> Cluster:
    """For what only an embedded cluster has, or does on purpose otherwise than a real one."""
    if not cluster.is_embedded:
        pytest.skip("only for embedded clusters")
    return cluster


@pytest.fixture
async def space(cluster: Cluster, tmp_path: Path) -> AsyncIterator[Space]:
    name = f"pods-{uuid.uuid4().hex[:8]}"
    kubectl = Kubectl(tool("kubectl"), cluster.kubeconfig, name, tmp_path)
    async with await Client.connect(str(cluster.kubeconfig)) as client:
        space = Space(client, cluster, name, kubectl)
        await client.create(NAMESPACES, NAMESPACES.describe(Key("", name)))
        await space.eventually(lambda: client.find(SERVICEACCOUNTS, space.key("default")), bool)
        yield space
        await _clear(space)


async def _clear(space: Space) -> None:
    scope = Scope(space.name)
    await space.client.delete_collection(PODS, scope, DeleteOptions(grace=1))
    for pod in (await space.client.list(PODS, scope)).items:
        if FINALIZER in pod["metadata"].get("finalizers", ()):
            await space.client.patch(PODS, Key.of(pod), {"metadata": {"finalizers": None}})
    with suppress(NotFound):  # deleted by the test itself
        await space.client.delete(NAMESPACES, Key("", space.name))
