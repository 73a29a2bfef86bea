# SPDX-License-Identifier: Apache-2.0
"""Services and the addresses behind them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.integration.controller_manager_basics.cluster_client import World, a_cluster

from springtide.kube.events import EventRecorder
from springtide.kube.resources import ENDPOINTS, ENDPOINTSLICES, PODS, SERVICES, Key, Obj
from springtide.local.controller_manager.network.endpoints import write

SPEC = {"selector": {"app": "web"}, "ports": [{"name": "http", "port": 80, "targetPort": "web"}]}


async def endpoints(world: World) -> dict[str, bool]:
    """Addresses in the slices and whether they are ready."""
    slices = await world.list(ENDPOINTSLICES, "kubernetes.io/service-name=web")
    found = [endpoint for one in slices for endpoint in one.get("endpoints") or ()]
    return {one["addresses"][0]: one["conditions"]["ready"] for one in found}


def has(*addresses: str, not_ready: tuple[str, ...] = ()) -> Callable[[Obj], bool]:
    def accept(obj: Obj) -> bool:
        subsets = obj.get("subsets") or []
        ready = {one["ip"] for subset in subsets for one in subset.get("addresses", ())}
        waiting = {one["ip"] for subset in subsets for one in subset.get("notReadyAddresses", ())}
        return ready == set(addresses) and waiting == set(not_ready)

    return accept


async def test_ready_pods_become_the_addresses_of_their_service(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as world:
        await world.create(SERVICES, "web", {"tier": "front"}, spec=SPEC)
        await world.run_pod("a", "10.1.0.1", app="web")
        await world.run_pod("b", "10.1.0.2", ready=False, app="web")
        await world.run_pod("c", "10.1.0.3", app="other")
        found = await world.until_object(ENDPOINTS, "web", has("10.1.0.1", not_ready=("10.1.0.2",)))
        assert found["subsets"][0]["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]
        assert found["metadata"]["labels"] == {
            "tier": "front",
            "endpoints.kubernetes.io/managed-by": "endpoint-controller",
        }
        await world.until(lambda: endpoints(world), lambda now: now == {"10.1.0.1": True, "10.1.0.2": False})
        (only,) = await world.list(ENDPOINTSLICES)
        owner = only["metadata"]["ownerReferences"][0]
        assert (owner["kind"], owner["name"], owner["controller"]) == ("Service", "web", True)
        await world.report("b", "10.1.0.2", ready=True)
        await world.until_object(ENDPOINTS, "web", has("10.1.0.1", "10.1.0.2"))
        await world.until(lambda: endpoints(world), lambda now: now == {"10.1.0.1": True, "10.1.0.2": True})
        await world.client.delete(PODS, Key(world.namespace, "a"))
        await world.until_object(ENDPOINTS, "web", has("10.1.0.2"))


async def test_unchanged_addresses_are_not_written_again(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as world:
        await world.create(SERVICES, "web", spec=SPEC)
        await world.run_pod("a", "10.1.0.1", app="web")
        before = await world.until_object(ENDPOINTS, "web", has("10.1.0.1"))
        await world.until(lambda: endpoints(world), lambda now: now == {"10.1.0.1": True})
        (slice_before,) = await world.list(ENDPOINTSLICES)
        await world.patch(PODS, "a", {"metadata": {"annotations": {"seen": "yes"}}})
        # A change that matters, to another service's endpoints, marks the end of the round.
        await world.create(SERVICES, "later", spec=SPEC)
        await world.until_object(ENDPOINTS, "later", has("10.1.0.1"))
        after = await world.get(ENDPOINTS, "web")
        (slice_after,) = await world.list(ENDPOINTSLICES, "kubernetes.io/service-name=web")
        assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
        assert slice_after["metadata"]["resourceVersion"] == slice_before["metadata"]["resourceVersion"]


async def test_endpoints_go_with_their_service_but_not_before_it_comes(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as world:
        subsets = [{"addresses": [{"ip": "192.0.2.1"}], "ports": [{"port": 80}]}]
        await world.create(ENDPOINTS, "mine", subsets=subsets)
        await world.create(SERVICES, "web", spec=SPEC)
        await world.until_object(ENDPOINTS, "web")
        await world.until(lambda: world.list(ENDPOINTSLICES))
        await world.delete(SERVICES, "web")
        await world.until_gone(ENDPOINTS, "web")
        await world.until(lambda: world.list(ENDPOINTSLICES), lambda slices: not slices)
        await world.create(SERVICES, "mine", spec={"ports": [{"port": 80}]})
        await world.delete(SERVICES, "mine")
        await world.until_gone(ENDPOINTS, "mine")


async def test_a_deleted_slice_and_changed_endpoints_come_back(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as world:
        await world.create(SERVICES, "web", spec=SPEC)
        await world.run_pod("a", "10.1.0.1", app="web")
        await world.until(lambda: endpoints(world), lambda now: now == {"10.1.0.1": True})
        (only,) = await world.list(ENDPOINTSLICES)
        await world.delete(ENDPOINTSLICES, only["metadata"]["name"])
        await world.until(lambda: endpoints(world), lambda now: now == {"10.1.0.1": True})
        await world.patch(ENDPOINTS, "web", {"subsets": []})
        await world.until_object(ENDPOINTS, "web", has("10.1.0.1"))


async def test_the_service_kubernetes_leads_to_the_server(tmp_path: Path) -> None:
    async with a_cluster(tmp_path, namespace="default") as world:
        found = await world.until_object(ENDPOINTS, "kubernetes")
        service = await world.until_object(
            SERVICES, "kubernetes", lambda service: service["spec"]["ports"][0]["targetPort"] == world.cluster.port
        )
        port = {"name": "https", "port": world.cluster.port, "protocol": "TCP"}
        address = service["spec"]["clusterIP"]
        assert found["subsets"] == [{"addresses": [{"ip": address}], "ports": [port]}]
        mirrored = await world.until_object(ENDPOINTSLICES, "kubernetes")
        assert mirrored["ports"] == [port]
        assert mirrored["endpoints"] == [{"addresses": [address], "conditions": {"ready": True}}]
        await world.delete(ENDPOINTS, "kubernetes")
        await world.until_object(ENDPOINTS, "kubernetes")
        await world.delete(SERVICES, "kubernetes")
        again = await world.until_object(SERVICES, "kubernetes")
        assert again["spec"]["clusterIP"] == address


async def test_endpoints_that_vanish_before_they_are_changed_are_no_mishap(tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as world:
        stale = await world.create(ENDPOINTS, "e", subsets=[])
        await world.delete(ENDPOINTS, "e")
        await write(world.client, EventRecorder(world.client, "test"), stale)
        assert await world.find(ENDPOINTS, "e") is None
