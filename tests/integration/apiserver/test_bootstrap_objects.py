# SPDX-License-Identifier: Apache-2.0
"""What a cluster has from the start, and has again after a restart."""

from __future__ import annotations

from pathlib import Path

import pytest

from springtide.kube.resources import CLUSTERROLEBINDINGS, NAMESPACES, SERVICES, Key, Resource
from springtide.local.apiserver.bootstrap import bootstrap
from springtide.local.apiserver.server import SERVICE_NETWORK
from springtide.local.cluster import Options, running


async def test_a_second_bootstrap_writes_nothing(tmp_path: Path) -> None:
    async with running(Options(tmp_path, port=0, controllers=False)) as cluster:
        before = cluster.server.store.revision
        await bootstrap(cluster.client("tester"), SERVICE_NETWORK)
        assert cluster.server.store.revision == before


@pytest.mark.parametrize(
    ("resource", "key"),
    [(CLUSTERROLEBINDINGS, Key("", "cluster-admin")), (SERVICES, Key("default", "kubernetes"))],
    ids=["a binding", "the service"],
)
async def test_what_was_deleted_comes_back_with_the_next_bootstrap(
    tmp_path: Path, resource: Resource, key: Key
) -> None:
    async with running(Options(tmp_path, port=0, controllers=False)) as cluster:
        client = cluster.client("tester")
        await client.delete(resource, key)
        await bootstrap(client, SERVICE_NETWORK)
        assert await client.find(resource, key) is not None


async def test_labels_of_a_user_stay(tmp_path: Path) -> None:
    async with running(Options(tmp_path, port=0, controllers=False)) as cluster:
        client, key = cluster.client("tester"), Key("", "default")
        await client.patch(NAMESPACES, key, {"metadata": {"labels": {"mine": "yes"}}})
        await bootstrap(client, SERVICE_NETWORK)
        assert (await client.get(NAMESPACES, key))["metadata"]["labels"]["mine"] == "yes"
