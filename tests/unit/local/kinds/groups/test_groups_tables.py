# SPDX-License-Identifier: Apache-2.0
"""What `kubectl get -o wide` shows; the cells were read off kube-apiserver."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.local.kinds.groups.writing import recorded

from springtide.local.kinds.groups.autoscaling import from_v1, targets_text, to_v1
from springtide.local.kinds.other_groups import STRATEGIES

NOW, CREATED = "2026-11-16T02:00:00Z", "2026-11-16T01:58:00Z"
TEMPLATE = {"spec": {"containers": [{"name": "c", "image": "i"}, {"name": "d", "image": "j:1"}]}}
RBAC = "rbac.authorization.k8s.io"


def cells(group: str, kind: str, content: dict[str, Any], **meta: Any) -> list[Any]:
    show = STRATEGIES[group, kind].cells
    assert show is not None
    return list(show({"metadata": {"name": "d", "creationTimestamp": CREATED, **meta}, **content}, NOW))


def job(status: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"spec": {"template": TEMPLATE, "selector": {"matchLabels": {"u": "1"}}, **spec}, "status": status}


def condition(kind: str) -> list[dict[str, str]]:
    return [{"type": kind, "status": "True"}]


def test_a_deployment_shows_how_many_are_ready() -> None:
    content = {
        "spec": {"replicas": 3, "selector": {"matchLabels": {"b": "2", "a": "1"}}, "template": TEMPLATE},
        "status": {"readyReplicas": 2, "updatedReplicas": 1, "availableReplicas": 2},
    }
    assert cells("apps", "Deployment", content) == ["d", "2/3", 1, 2, "2m", "c,d", "i,j:1", "a=1,b=2"]


def test_a_replica_set_shows_its_numbers() -> None:
    content = {
        "spec": {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE},
        "status": {"replicas": 2, "readyReplicas": 1},
    }
    assert cells("apps", "ReplicaSet", content) == ["d", 2, 2, 1, "2m", "c,d", "i,j:1", "a=b"]


@pytest.mark.parametrize(
    ("content", "meta", "shown"),
    [
        (job({}, completions=1), {}, ["Running", "0/1", ""]),
        (job({"startTime": "2026-11-16T01:59:00Z"}, completions=3), {}, ["Running", "0/3", "60s"]),
        (job({"conditions": condition("Suspended")}, completions=1), {}, ["Suspended", "0/1", ""]),
        (job({"conditions": condition("FailureTarget")}, completions=1), {}, ["FailureTarget", "0/1", ""]),
        (job({"conditions": condition("Failed")}, completions=1), {}, ["Failed", "0/1", ""]),
        (job({}, completions=1), {"deletionTimestamp": NOW}, ["Terminating", "0/1", ""]),
        (job({"succeeded": 1}, parallelism=4), {}, ["Running", "1/1 of 4", ""]),
        (job({"succeeded": 1}, parallelism=1), {}, ["Running", "1/1", ""]),
        (
            job(
                {
                    "conditions": condition("Complete"),
                    "startTime": "2026-11-16T01:00:00Z",
                    "completionTime": "2026-11-16T01:10:00Z",
                    "succeeded": 1,
                },
                completions=1,
            ),
            {"deletionTimestamp": NOW},
            ["Complete", "1/1", "10m"],
        ),
    ],
)
def test_a_job_shows_its_status_and_how_long_it_took(
    content: dict[str, Any], meta: dict[str, Any], shown: list[str]
) -> None:
    assert cells("batch", "Job", content, **meta)[1:4] == shown


def test_a_jobs_successes_can_be_selected_by_field() -> None:
    read = STRATEGIES["batch", "Job"].fields["status.successful"]
    assert read({"status": {"succeeded": 2}}) == "2"
    assert read({"status": {}}) == "0"


def metric(kind: str, field: str, **source: Any) -> dict[str, Any]:
    return {"type": kind, field: source}


CPU = metric("Resource", "resource", name="cpu", target={"type": "Utilization", "averageUtilization": 80})
PODS = metric("Pods", "pods", metric={"name": "x"}, target={"type": "AverageValue", "averageValue": "10"})
EXTERNAL = metric("External", "external", metric={"name": "x"}, target={"type": "Value", "value": "1500m"})
OBJECT = metric("Object", "object", metric={"name": "x"}, target={"type": "AverageValue", "averageValue": "2k"})


@pytest.mark.parametrize(
    ("metrics", "current", "shown"),
    [
        ([], [], "<none>"),
        ([CPU], [], "cpu: <unknown>/80%"),
        ([CPU], [metric("Resource", "resource", name="cpu", current={"averageUtilization": 12})], "cpu: 12%/80%"),
        ([PODS, EXTERNAL, OBJECT], [], "<unknown>/10, <unknown>/1500m + 1 more..."),
        ([OBJECT], [metric("Object", "object", current={"averageValue": "1k"})], "1k/2k (avg)"),
        ([EXTERNAL], [metric("External", "external", current={"value": "1"})], "1/1500m"),
        (
            [
                metric(
                    "ContainerResource",
                    "containerResource",
                    name="memory",
                    target={"type": "AverageValue", "averageValue": "1Gi"},
                )
            ],
            [],
            "memory: <unknown>/1Gi",
        ),
        ([{"type": "Odd"}], [], "<unknown type>"),
    ],
)
def test_an_autoscaler_shows_what_is_against_what_is_wanted(
    metrics: list[dict[str, Any]], current: list[dict[str, Any]], shown: str
) -> None:
    assert targets_text(metrics, current) == shown


def test_an_autoscaler_of_version_one_becomes_one_of_version_two_and_back() -> None:
    old = {
        "spec": {"minReplicas": 1, "maxReplicas": 5, "targetCPUUtilizationPercentage": 50},
        "status": {"currentReplicas": 1, "desiredReplicas": 2, "currentCPUUtilizationPercentage": 70},
    }
    new = from_v1(old)
    assert new["spec"]["metrics"][0]["resource"]["target"] == {"type": "Utilization", "averageUtilization": 50}
    assert to_v1(new) == old


@pytest.mark.parametrize(
    ("spec", "shown"), [({"minAvailable": 1}, ["1", "N/A"]), ({"maxUnavailable": "50%"}, ["N/A", "50%"])]
)
def test_a_disruption_budget_shows_its_bound(spec: dict[str, Any], shown: list[str]) -> None:
    row = cells("policy", "PodDisruptionBudget", {"spec": spec, "status": {"disruptionsAllowed": 2}})
    assert row == ["d", *shown, 2, "2m"]


def test_a_binding_shows_its_subjects_by_kind() -> None:
    subjects = [
        {"kind": "User", "name": "u"},
        {"kind": "User", "name": "v"},
        {"kind": "Group", "name": "g"},
        {"kind": "ServiceAccount", "name": "s", "namespace": "n"},
    ]
    content = {"roleRef": {"kind": "ClusterRole", "name": "view"}, "subjects": subjects}
    expected = ["d", "ClusterRole/view", "2m", "u, v", "g", "n/s"]
    assert cells(RBAC, "RoleBinding", content) == cells(RBAC, "ClusterRoleBinding", content) == expected


def test_the_default_storage_class_says_so() -> None:
    content = {"provisioner": "x/y", "reclaimPolicy": "Retain", "volumeBindingMode": "Immediate"}
    marked = {"storageclass.kubernetes.io/is-default-class": "true"}
    row = ["x/y", "Retain", "Immediate", False, "2m"]
    assert cells("storage.k8s.io", "StorageClass", content) == ["d", *row]
    assert cells("storage.k8s.io", "StorageClass", content, annotations=marked) == ["d (default)", *row]


def test_an_endpoint_slice_shows_its_first_three() -> None:
    addresses = [f"10.0.0.{number}" for number in range(1, 6)]
    content = {
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": 80}, {"name": "named"}, {}],
        "endpoints": [{"addresses": addresses}],
    }
    assert cells("discovery.k8s.io", "EndpointSlice", content) == [
        "d",
        "IPv4",
        "80,named,*",
        "10.0.0.1,10.0.0.2,10.0.0.3 + 2 more...",
        "2m",
    ]
    assert cells("discovery.k8s.io", "EndpointSlice", {"addressType": "IPv6"})[2:4] == ["<unset>", "<unset>"]


@pytest.mark.parametrize(
    ("group", "kind", "content", "shown"),
    [
        ("scheduling.k8s.io", "PriorityClass", {"value": 5, "preemptionPolicy": "Never"}, [5, False, "2m", "Never"]),
        ("coordination.k8s.io", "Lease", {"spec": {"holderIdentity": "me"}}, ["me", "2m"]),
        ("coordination.k8s.io", "Lease", {"spec": {}}, ["", "2m"]),
        (
            "admissionregistration.k8s.io",
            "ValidatingWebhookConfiguration",
            {"webhooks": [{}, {}]},
            [2, "2m"],
        ),
    ],
)
def test_small_kinds_show_what_matters(group: str, kind: str, content: dict[str, Any], shown: list[Any]) -> None:
    assert cells(group, kind, content) == ["d", *shown]


@pytest.mark.parametrize("table", recorded("tables.json"), ids=lambda table: str(table["kind"]))
def test_columns_are_those_of_kube_apiserver(table: dict[str, Any]) -> None:
    columns = STRATEGIES[table["group"], table["kind"]].columns
    fields = ("name", "type", "format", "description", "priority")
    assert [{field: getattr(column, field) for field in fields} for column in columns] == table["columns"]


@pytest.mark.parametrize(("group", "kind"), STRATEGIES)
def test_a_row_has_a_cell_for_every_column(group: str, kind: str) -> None:
    strategy = STRATEGIES[group, kind]
    if strategy.cells is None:
        assert strategy.columns == ()
        return
    assert len(cells(group, kind, {"spec": {}, "roleRef": {}})) == len(strategy.columns)
