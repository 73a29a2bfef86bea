# SPDX-License-Identifier: Apache-2.0
"""What an embedded cluster has for jobs is there after every start, whatever became of it before."""

from __future__ import annotations

from pathlib import Path

from tests.integration.controller_manager_basics.cluster_client import a_cluster

from springtide.kube.resources import CLUSTERROLEBINDINGS, CLUSTERROLES, NAMESPACES, Key
from springtide.local.supervisor import seeding

OPERATOR = Key("", "springtide-operator")


async def test_what_was_deleted_or_led_astray_comes_back(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as world:
        client = world.client
        await seeding.seed(client)
        meant = await client.get(CLUSTERROLEBINDINGS, OPERATOR)
        await client.delete(CLUSTERROLES, OPERATOR)
        await client.delete(CLUSTERROLEBINDINGS, OPERATOR)
        astray = {"apiGroup": CLUSTERROLES.group, "kind": "ClusterRole", "name": "cluster-admin"}
        other = CLUSTERROLEBINDINGS.describe(OPERATOR) | {"roleRef": astray, "subjects": meant["subjects"]}
        await client.create(CLUSTERROLEBINDINGS, other)
        assert await seeding.seed(client) == ()
        assert (await client.get(CLUSTERROLEBINDINGS, OPERATOR))["roleRef"] == meant["roleRef"]
        assert await client.find(CLUSTERROLES, OPERATOR) is not None
        assert await client.find(NAMESPACES, Key("", "kubeflow")) is not None
