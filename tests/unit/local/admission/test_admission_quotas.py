# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.unit.local.admission.builders import World, a_pod, a_request

from springtide.local.admission.quota_usage import in_scope, quota_delta, usage
from springtide.local.admission.quotas import Charge, ResourceQuotas
from springtide.local.status import StatusError

NOW = datetime(2026, 11, 16, tzinfo=UTC)


def a_quota(hard: dict[str, str], used: dict[str, str] | None = None) -> dict[str, Any]:
    return {
        "metadata": {"name": "compute", "namespace": "default", "resourceVersion": "1"},
        "spec": {"hard": hard},
        "status": {"hard": hard, "used": {**dict.fromkeys(hard, "0"), **(used or {})}},
    }


def asking(requests: dict[str, str], limits: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    return {"name": "c", "image": "i", "resources": {"requests": requests, "limits": limits or {}}, **more}


class Books:
    """Quotas in a world, with `reserve` writing them back as the store would."""

    def __init__(self, *quotas: dict[str, Any]) -> None:
        self.world = World(*(("resourcequotas", quota) for quota in quotas))
        self.stale = 0
        self.plugin = ResourceQuotas(self.world, self.reserve, lambda: NOW)

    async def reserve(self, charge: Charge) -> bool:
        await asyncio.sleep(0)
        if self.stale:
            self.stale -= 1
            return False
        self.world.put("resourcequotas", {**charge.quota, "status": {**charge.quota["status"], "used": charge.used}})
        return True

    def used(self, name: str = "compute") -> Any:
        quota = self.world.get("resourcequotas", "default", name)
        assert quota is not None
        return quota["status"]["used"]

    async def refusal(self, **request: Any) -> str:
        with pytest.raises(StatusError) as refused:
            await self.plugin.admit(a_request(**request))
        assert refused.value.code == 403
        return refused.value.message


async def test_without_quotas_nothing_is_counted() -> None:
    await Books().plugin.admit(a_request(a_pod()))


async def test_a_pod_is_booked_in_what_the_quota_limits() -> None:
    books = Books(a_quota({"pods": "2", "requests.cpu": "1"}))
    pod = a_pod(containers=[asking({"cpu": "500m", "memory": "1Gi"})])
    await books.plugin.admit(a_request(pod))
    assert books.used() == {"pods": "1", "requests.cpu": "500m"}


async def test_a_mirror_pod_is_not_counted() -> None:
    books = Books(a_quota({"pods": "0", "count/pods": "0", "requests.cpu": "1"}))
    pod = a_pod()
    pod["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    await books.plugin.admit(a_request(pod))
    assert books.used() == {"pods": "0", "count/pods": "0", "requests.cpu": "0"}
    assert usage("pods", pod, NOW) == {}


async def test_a_dry_run_books_nothing() -> None:
    books = Books(a_quota({"pods": "2"}))
    await books.plugin.admit(a_request(a_pod(), dry_run=True))
    assert books.used() == {"pods": "0"}


async def test_what_is_too_much_is_listed() -> None:
    quota = a_quota({"pods": "1", "requests.cpu": "1", "limits.memory": "1Gi", "requests.nvidia.com/gpu": "2"})
    container = asking({"cpu": "1500m", "nvidia.com/gpu": "3"}, {"memory": "2Gi", "nvidia.com/gpu": "3"})
    message = await Books(quota).refusal(obj=a_pod("g-rhgfh", generated="g-", containers=[container]))
    assert message == (
        'pods "g-rhgfh" is forbidden: exceeded quota: compute, '
        "requested: limits.memory=2Gi,requests.cpu=1500m,requests.nvidia.com/gpu=3, "
        "used: limits.memory=0,requests.cpu=0,requests.nvidia.com/gpu=0, "
        "limited: limits.memory=1Gi,requests.cpu=1,requests.nvidia.com/gpu=2"
    )


async def test_silence_about_limited_resources_is_refused() -> None:
    books = Books(a_quota({"pods": "9", "requests.cpu": "1", "limits.memory": "1Gi"}))
    pod = a_pod("a", containers=[{"name": "c"}, {"name": "d"}])
    assert await books.refusal(obj=pod) == (
        'pods "a" is forbidden: failed quota: compute: must specify limits.memory for: c,d; requests.cpu for: c,d'
    )


async def test_a_quota_without_usage_yet_holds_everything_back() -> None:
    quota = a_quota({"pods": "9"})
    del quota["status"]["used"]
    message = await Books(quota).refusal(obj=a_pod())
    assert message == 'pods "p" is forbidden: status unknown for quota: compute, resources: pods'


async def test_objects_of_any_kind_can_be_counted() -> None:
    books = Books(a_quota({"count/configmaps": "2", "configmaps": "3"}, used={"count/configmaps": "2"}))
    config_map = {"metadata": {"name": "h", "namespace": "default"}}
    assert await books.refusal(obj=config_map, resource="configmaps", kind="ConfigMap") == (
        'configmaps "h" is forbidden: exceeded quota: compute, requested: count/configmaps=1, '
        "used: count/configmaps=2, limited: count/configmaps=2"
    )


async def test_two_at_once_cannot_take_the_last_slot() -> None:
    books = Books(a_quota({"pods": "1"}))
    outcomes = await asyncio.gather(
        *(books.plugin.admit(a_request(a_pod(name))) for name in ("a", "b")), return_exceptions=True
    )
    assert [type(outcome) for outcome in outcomes] == [type(None), StatusError]
    assert books.used() == {"pods": "1"}


async def test_a_quota_changed_meanwhile_is_read_again() -> None:
    books = Books(a_quota({"pods": "1"}))
    books.stale = 2
    await books.plugin.admit(a_request(a_pod()))
    assert books.used() == {"pods": "1"}
    books.stale = 3
    books.world.put("resourcequotas", a_quota({"pods": "9"}))
    with pytest.raises(StatusError, match="the object has been modified"):
        await books.plugin.admit(a_request(a_pod()))


async def test_an_update_pays_for_the_increase_only() -> None:
    books = Books(a_quota({"requests.storage": "2Gi"}, used={"requests.storage": "1Gi"}))

    def a_claim(size: str) -> dict[str, Any]:
        spec = {"resources": {"requests": {"storage": size}}}
        return {"metadata": {"name": "data", "namespace": "default"}, "spec": spec}

    fields = {"resource": "persistentvolumeclaims", "kind": "PersistentVolumeClaim", "operation": "UPDATE"}
    await books.plugin.admit(a_request(a_claim("2Gi"), old=a_claim("1Gi"), **fields))
    assert books.used() == {"requests.storage": "2Gi"}
    await books.plugin.admit(a_request(a_claim("1Gi"), old=a_claim("2Gi"), **fields))
    assert books.used() == {"requests.storage": "2Gi"}  # the controller gives it back, not we


@pytest.mark.parametrize(
    ("operation", "storage", "subresource", "handled"),
    [
        ("CREATE", "pods", "", True),
        ("CREATE", "mpijobs.kubeflow.org", "", True),
        ("UPDATE", "configmaps", "", False),
        ("UPDATE", "services", "", True),
        ("UPDATE", "pods", "status", False),
        ("CREATE", "events", "", False),
        ("DELETE", "pods", "", False),
    ],
)
def test_it_cares_for_writes_that_can_add(operation: str, storage: str, subresource: str, handled: bool) -> None:
    assert Books().plugin.handles(operation, storage, subresource) is handled


def shown(amounts: Any) -> dict[str, str]:
    return {name: str(amount) for name, amount in amounts.items()}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(
            {"containers": [asking({"cpu": "1"}), asking({"cpu": "500m"})]},
            {"cpu": "1500m"},
            id="containers add up",
        ),
        pytest.param(
            {"containers": [asking({"cpu": "1"})], "initContainers": [asking({"cpu": "2"}), asking({"cpu": "3"})]},
            {"cpu": "3"},
            id="the largest init container counts",
        ),
        pytest.param(
            {
                "containers": [asking({"cpu": "1"})],
                "initContainers": [asking({"cpu": "1"}, restartPolicy="Always"), asking({"cpu": "2"})],
            },
            {"cpu": "3"},
            id="a sidecar runs beside what starts later",
        ),
        pytest.param(
            {"containers": [asking({"cpu": "1"})], "overhead": {"cpu": "100m"}}, {"cpu": "1100m"}, id="overhead"
        ),
        pytest.param(
            {"containers": [asking({"cpu": "1"})], "resources": {"requests": {"cpu": "4"}}},
            {"cpu": "4"},
            id="the pod's own word",
        ),
        pytest.param(
            {"containers": [asking({"nvidia.com/gpu": "2", "hugepages-2Mi": "4Mi"})]},
            {"requests.nvidia.com/gpu": "2", "hugepages-2Mi": "4Mi"},
            id="extended resources",
        ),
    ],
)
def test_a_pod_uses_what_its_containers_ask_for(spec: dict[str, Any], expected: dict[str, str]) -> None:
    found = shown(usage("pods", a_pod(**spec), NOW))
    assert {name: found.get(name) for name in expected} == expected
    assert (found["pods"], found["count/pods"]) == ("1", "1")


@pytest.mark.parametrize(
    "change",
    [
        {"status": {"phase": "Succeeded"}},
        {
            "metadata": {
                "name": "p",
                "deletionTimestamp": "2026-11-15T00:00:00Z",
                "deletionGracePeriodSeconds": 30,
            }
        },
    ],
    ids=["finished", "stuck"],
)
def test_a_pod_that_is_over_only_counts_as_an_object(change: dict[str, Any]) -> None:
    assert shown(usage("pods", a_pod() | change, NOW)) == {"count/pods": "1"}


def test_a_service_counts_its_ports() -> None:
    spec = {"type": "LoadBalancer", "ports": [{"port": 1}, {"port": 2}]}
    found = quota_delta("services", {"metadata": {"name": "s"}, "spec": spec}, None, NOW)
    assert shown(found) == {
        "count/services": "1",
        "services": "1",
        "services.nodeports": "2",
        "services.loadbalancers": "1",
    }


def test_a_claim_counts_for_its_class_too() -> None:
    claim = {
        "metadata": {"name": "data"},
        "spec": {"storageClassName": "gold", "resources": {"requests": {"storage": "1Gi"}}},
    }
    assert shown(usage("persistentvolumeclaims", claim, NOW)) == {
        "count/persistentvolumeclaims": "1",
        "persistentvolumeclaims": "1",
        "requests.storage": "1Gi",
        "gold.storageclass.storage.k8s.io/persistentvolumeclaims": "1",
        "gold.storageclass.storage.k8s.io/requests.storage": "1Gi",
    }


BUSY = [asking({"cpu": "1"})]
HIGH = {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}
REACHING = {
    "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"namespaces": ["x"], "topologyKey": "k"}]}
}


@pytest.mark.parametrize(
    ("quota_spec", "pod_spec", "counted"),
    [
        ({}, {}, True),
        ({"scopes": ["BestEffort"]}, {}, True),
        ({"scopes": ["BestEffort"]}, {"containers": BUSY}, False),
        ({"scopes": ["NotBestEffort"]}, {"containers": BUSY}, True),
        ({"scopes": ["Terminating"]}, {"activeDeadlineSeconds": 5}, True),
        ({"scopes": ["NotTerminating"]}, {"activeDeadlineSeconds": 5}, False),
        ({"scopes": ["Terminating", "BestEffort"]}, {}, False),
        ({"scopes": ["PriorityClass"]}, {"priorityClassName": "high"}, True),
        ({"scopeSelector": {"matchExpressions": [HIGH]}}, {"priorityClassName": "high"}, True),
        ({"scopeSelector": {"matchExpressions": [HIGH]}}, {"priorityClassName": "low"}, False),
        ({"scopeSelector": {"matchExpressions": [HIGH | {"operator": "NotIn"}]}}, {}, True),
        ({"scopes": ["CrossNamespacePodAffinity"]}, {"affinity": REACHING}, True),
    ],
)
def test_scopes_pick_pods(quota_spec: dict[str, Any], pod_spec: dict[str, Any], counted: bool) -> None:
    assert in_scope({"spec": quota_spec}, "pods", a_pod(**pod_spec)) is counted


def test_a_scoped_quota_counts_pods_only() -> None:
    assert not in_scope({"spec": {"scopes": ["BestEffort"]}}, "configmaps", {"metadata": {"name": "c"}})
