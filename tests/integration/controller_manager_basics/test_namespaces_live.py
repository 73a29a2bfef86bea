# SPDX-License-Identifier: Apache-2.0
"""What every namespace gets by itself."""

from __future__ import annotations

from pathlib import Path

from tests.integration.controller_manager_basics.cluster_client import a_cluster

from springtide.kube.resources import CONFIGMAPS, NAMESPACES, SERVICEACCOUNTS

CA = "kube-root-ca.crt"


async def test_a_namespace_gets_its_service_account_and_the_ca(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as world:
        found = await world.until_object(CONFIGMAPS, CA)
        assert found["data"]["ca.crt"].startswith("-----BEGIN CERTIFICATE-----")
        assert found["metadata"]["annotations"]["kubernetes.io/description"].startswith("Contains a CA bundle")
        for namespace in ("default", "kube-system", "kube-public", "kube-node-lease"):
            world.namespace = namespace
            await world.until_object(SERVICEACCOUNTS, "default")
            await world.until_object(CONFIGMAPS, CA)


async def test_they_are_restored_when_deleted_or_changed(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as world:
        before = await world.until_object(CONFIGMAPS, CA)
        account = await world.get(SERVICEACCOUNTS, "default")
        await world.delete(SERVICEACCOUNTS, "default")
        await world.until_object(
            SERVICEACCOUNTS, "default", lambda found: found["metadata"]["uid"] != account["metadata"]["uid"]
        )
        await world.patch(CONFIGMAPS, CA, {"data": {"ca.crt": "forged", "more": "x"}})
        await world.until_object(CONFIGMAPS, CA, lambda found: found["data"] == before["data"])
        await world.delete(CONFIGMAPS, CA)
        await world.until_object(CONFIGMAPS, CA, lambda found: found["data"] == before["data"])


async def test_a_namespace_that_goes_takes_them_along(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as world:
        await world.until_object(CONFIGMAPS, CA)
        await world.delete(NAMESPACES, world.namespace)
        await world.until_gone(NAMESPACES, world.namespace)
        assert await world.find(SERVICEACCOUNTS, "default") is None
