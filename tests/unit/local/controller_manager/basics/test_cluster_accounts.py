# SPDX-License-Identifier: Apache-2.0
"""The small controllers' decisions: the CA, the kubernetes service, roles, quotas, events."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from springtide.api import quantity
from springtide.kube.resources import ENDPOINTS, ENDPOINTSLICES, SERVICES, Obj
from springtide.local.controller_manager import quotas
from springtide.local.controller_manager.access import role_aggregation, root_ca
from springtide.local.controller_manager.access.service_accounts import is_active
from springtide.local.controller_manager.garbage_collection import event_expiry
from springtide.local.controller_manager.network import kubernetes_service

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("namespace", "expected"),
    [
        ({"status": {"phase": "Active"}}, True),
        ({"status": {"phase": "Terminating"}}, False),
        ({}, False),
        (None, False),
    ],
)
def test_only_an_active_namespace_gets_things(namespace: Obj | None, expected: bool) -> None:
    assert is_active(namespace) == expected


def test_the_ca_is_repaired_without_touching_what_is_not_ours() -> None:
    whole = root_ca.wanted("ns", "PEM")
    assert root_ca.repaired(whole, "PEM") is None
    note = {"note": "x"}
    broken = whole | {"data": {"ca.crt": "forged"}, "metadata": whole["metadata"] | {"annotations": note}}
    better = root_ca.repaired(broken, "PEM")
    assert better is not None
    assert better["data"] == {"ca.crt": "PEM"}
    assert better["metadata"]["annotations"] == whole["metadata"]["annotations"] | note


def test_the_kubernetes_service_leads_to_its_own_address_and_the_servers_port() -> None:
    port = {"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}
    service = {"metadata": {"resourceVersion": "1"}, "spec": {"clusterIP": "10.96.0.1", "ports": [port]}}
    writes = dict(kubernetes_service.plan(kubernetes_service.Observed(service, None, None), "10.96.0.1", 7443))
    assert writes[SERVICES]["spec"]["ports"][0]["targetPort"] == 7443
    assert writes[ENDPOINTS]["subsets"] == [
        {"addresses": [{"ip": "10.96.0.1"}], "ports": [{"name": "https", "port": 7443, "protocol": "TCP"}]}
    ]
    assert writes[ENDPOINTS]["metadata"]["labels"] == {"endpointslice.kubernetes.io/skip-mirror": "true"}
    assert writes[ENDPOINTSLICES]["endpoints"] == [{"addresses": ["10.96.0.1"], "conditions": {"ready": True}}]
    done = kubernetes_service.Observed(writes[SERVICES], writes[ENDPOINTS], writes[ENDPOINTSLICES])
    assert list(kubernetes_service.plan(done, "10.96.0.1", 7443)) == []


def test_aggregated_roles_are_the_sum_of_the_roles_they_select() -> None:
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    selector = {"clusterRoleSelectors": [{"matchLabels": {"to": "view"}}]}
    view = {"metadata": {"name": "view"}, "aggregationRule": selector, "rules": []}
    part = {"metadata": {"name": "part", "labels": {"to": "view"}}, "rules": [rule]}
    other = {"metadata": {"name": "other"}, "rules": [rule]}
    assert list(role_aggregation.plan([view, part, other])) == [("view", [rule])]
    assert list(role_aggregation.plan([{**view, "rules": [rule]}, part, other])) == []


def a_quota(limits: Obj, **status: Obj) -> Obj:
    return {"metadata": {"name": "q", "namespace": "ns"}, "spec": {"hard": limits}, "status": status}


@pytest.mark.parametrize(
    ("quota", "expected"),
    [
        pytest.param(a_quota({"pods": "1"}), True, id="new"),
        pytest.param(a_quota({"pods": "1"}, hard={"pods": "1"}, used={"pods": "0"}), False, id="counted"),
        pytest.param(a_quota({"pods": "1"}, hard={"pods": "1"}, used={"pods": "1"}), False, id="booked"),
        pytest.param(a_quota({"pods": "2"}, hard={"pods": "1"}, used={"pods": "0"}), True, id="changed"),
    ],
)
def test_a_quota_is_counted_when_its_status_does_not_answer_its_spec(quota: Obj, expected: bool) -> None:
    assert quotas.is_unsettled(quota) == expected


def test_a_count_replaces_what_it_covers_and_drops_what_is_not_limited() -> None:
    quota = a_quota({"pods": "5", "count/gone.example.com": "1"}, used={"count/gone.example.com": "1", "services": "2"})
    counted = {"pods": {"pods": quantity.parse("3")}}
    assert quotas.new_status(quota, counted) == {
        "hard": {"pods": "5", "count/gone.example.com": "1"},
        "used": {"pods": "3", "count/gone.example.com": "1"},
    }


async def test_usage_is_added_up_name_by_name() -> None:
    usages = [{"cpu": quantity.parse("500m"), "pods": quantity.parse("1")}, {"pods": quantity.parse("1")}]
    total = await quotas.add_up(["cpu", "pods", "memory"], usages)
    assert {name: str(amount) for name, amount in total.items()} == {"cpu": "500m", "pods": "2", "memory": "0"}


@pytest.mark.parametrize(
    ("created", "last", "observed", "left"),
    [
        pytest.param(10, None, None, 50, id="since its creation"),
        pytest.param(90, 20, None, 40, id="since it was counted up"),
        pytest.param(90, None, 5, 55, id="since its series went on"),
        pytest.param(70, None, None, -10, id="over"),
        pytest.param(30, 120, None, 30, id="an old time in a new event does not matter"),
        pytest.param(70, -600, None, -10, id="a time to come is not believed"),
    ],
)
def test_an_event_lives_for_an_hour(created: int, last: int | None, observed: int | None, left: int) -> None:
    def ago(minutes: int | None) -> datetime | None:
        return None if minutes is None else NOW - timedelta(minutes=minutes)

    metadata = event_expiry.Metadata("u", "1", NOW - timedelta(minutes=created))
    series = event_expiry.Series(ago(observed)) if observed is not None else None
    event = event_expiry.EventTimes(metadata, ago(last), series)
    assert event_expiry.time_left(event, NOW) == timedelta(minutes=left)
