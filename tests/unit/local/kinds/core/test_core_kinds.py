# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from springtide.local.kinds.basic.cluster_core import validate_namespace_finalizers
from springtide.local.kinds.basic.events import as_core, as_events
from springtide.local.kinds.basic.services import ports_without_node_port, wants_cluster_ip
from springtide.local.kinds.core import STRATEGIES
from springtide.local.kinds.pod.pod_defaults import pull_policy
from springtide.local.kinds.pod.pod_template import default_pod_template, validate_pod_template
from springtide.local.kinds.pod.pods import qos_class
from springtide.local.kinds.strategy import Obj

MEBIBYTE = 1024 * 1024


def strategy(kind: str) -> Any:
    return STRATEGIES["", kind]


def a_pod(**spec: Any) -> Obj:
    pod: Obj = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "main", "image": "x:1"}], **spec}}
    strategy("Pod").default(pod)
    return pod


def selected(kind: str, obj: Obj) -> dict[str, str]:
    return {field: read(obj) for field, read in strategy(kind).fields.items()}


@pytest.mark.parametrize(
    ("kind", "value", "good"),
    [
        ("ConfigMap", "x" * MEBIBYTE, True),
        ("ConfigMap", "x" * (MEBIBYTE + 1), False),
        ("ConfigMap", "é" * (MEBIBYTE // 2), True),
        ("ConfigMap", "é" * (MEBIBYTE // 2 + 1), False),
        ("Secret", "AAAA" * (MEBIBYTE // 3), True),
        ("Secret", "AAAA" * (MEBIBYTE // 3 + 1), False),
    ],
    ids=["letters", "a letter more", "wide letters", "a wide letter more", "bytes", "a byte more"],
)
def test_data_is_bounded_by_a_mebibyte(kind: str, value: str, good: bool) -> None:
    assert bool(strategy(kind).validate({"data": {"k": value}})) is not good


def test_both_shapes_of_an_event_are_one_object() -> None:
    core: Obj = {
        "metadata": {"name": "a"},
        "involvedObject": {"name": "p"},
        "reason": "R",
        "message": "m",
        "source": {"component": "c"},
        "firstTimestamp": None,
        "lastTimestamp": None,
        "eventTime": None,
        "count": 2,
        "reportingComponent": "",
        "reportingInstance": "",
    }
    newer = as_events(core)
    assert newer["regarding"] == {"name": "p"}
    assert newer["note"] == "m"
    assert newer["deprecatedCount"] == 2
    assert "reportingController" not in newer
    back = as_core(newer)
    strategy("Event").default(back)
    assert back == core


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("busybox", "Always"),
        ("busybox:latest", "Always"),
        ("busybox:1.36", "IfNotPresent"),
        ("registry.example:5000/a/b", "Always"),
        ("registry.example:5000/a/b:v1", "IfNotPresent"),
        ("a@sha256:" + "0" * 64, "IfNotPresent"),
        ("Not An Image", "IfNotPresent"),
        ("", "IfNotPresent"),
    ],
)
def test_an_image_that_may_move_is_always_pulled(image: str, policy: str) -> None:
    assert pull_policy(image) == policy


@pytest.mark.parametrize(
    ("resources", "quality"),
    [
        ({}, "BestEffort"),
        ({"limits": {"nvidia.com/gpu": "1"}}, "BestEffort"),
        ({"requests": {"cpu": "0"}}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1000m", "memory": "1024Mi"}}, "Guaranteed"),
    ],
)
def test_quality_of_service_follows_from_resources(resources: Obj, quality: str) -> None:
    assert qos_class({"containers": [{"resources": resources}]}) == quality


def test_a_gated_pod_says_so_from_the_start() -> None:
    pod = a_pod(schedulingGates=[{"name": "a.b/c"}])
    pod["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    strategy("Pod").prepare_create(pod)
    (condition,) = pod["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("PodScheduled", "False", "SchedulingGated")
    assert condition["lastTransitionTime"] == "2026-01-01T00:00:00Z"


def test_a_row_of_a_finished_pod_is_marked_completed() -> None:
    conditions = strategy("Pod").row_conditions
    assert conditions({"status": {"phase": "Running"}}) == []
    assert conditions({"status": {"phase": "Failed"}})[0]["reason"] == "Failed"
    assert conditions({"status": {"phase": "Succeeded"}})[0]["message"] == "The pod has completed successfully."


def test_a_pod_being_deleted_is_terminating() -> None:
    pod: Obj = {
        "metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z", "deletionTimestamp": "x"},
        "spec": {"containers": [{"name": "main"}]},
        "status": {"phase": "Running"},
    }
    assert strategy("Pod").cells(pod, "2026-01-01T00:00:05Z")[:5] == ("a", "0/1", "Terminating", "0", "5s")
    pod["status"]["reason"] = "NodeLost"
    assert strategy("Pod").cells(pod, "2026-01-01T00:00:05Z")[2] == "Unknown"


def test_pods_are_selected_by_where_and_how_they_run() -> None:
    pod = a_pod(nodeName="n", serviceAccount="s")
    pod["status"] = {"phase": "Running", "podIP": "1.2.3.4", "podIPs": [{"ip": "1.2.3.4"}]}
    assert selected("Pod", pod) == {
        "spec.nodeName": "n",
        "spec.restartPolicy": "Always",
        "spec.schedulerName": "default-scheduler",
        "spec.serviceAccountName": "s",
        "spec.hostNetwork": "false",
        "status.phase": "Running",
        "status.podIP": "1.2.3.4",
        "status.podIPs": "1.2.3.4",
        "status.nominatedNodeName": "",
    }


@pytest.mark.parametrize(
    ("kind", "obj", "fields"),
    [
        ("Node", {"spec": {"unschedulable": True}}, {"spec.unschedulable": "true"}),
        ("Node", {}, {"spec.unschedulable": "false"}),
        ("Secret", {"type": "Opaque"}, {"type": "Opaque"}),
        ("Service", {"spec": {"type": "ClusterIP"}}, {"spec.type": "ClusterIP", "spec.clusterIP": ""}),
        (
            "Namespace",
            {"metadata": {"name": "a"}, "status": {"phase": "Active"}},
            {"status.phase": "Active", "name": "a"},
        ),
    ],
)
def test_other_kinds_are_selected_by_their_fields(kind: str, obj: Obj, fields: dict[str, str]) -> None:
    assert selected(kind, obj) == fields


def test_an_event_is_selected_by_what_it_is_about() -> None:
    event: Obj = {"involvedObject": {"name": "p", "kind": "Pod"}, "reportingComponent": "c", "reason": "R"}
    fields = selected("Event", event)
    assert (fields["involvedObject.name"], fields["involvedObject.kind"], fields["reason"]) == ("p", "Pod", "R")
    assert fields["source"] == fields["reportingComponent"] == "c"


@pytest.mark.parametrize(
    ("spec", "needed"),
    [
        ({"type": "ClusterIP"}, True),
        ({"type": "ClusterIP", "clusterIPs": ["None"]}, False),
        ({"type": "ExternalName"}, False),
    ],
)
def test_only_some_services_need_an_address(spec: Obj, needed: bool) -> None:
    assert wants_cluster_ip({"spec": spec}) is needed


@pytest.mark.parametrize(
    ("spec", "missing"),
    [
        ({"type": "ClusterIP"}, 0),
        ({"type": "NodePort"}, 1),
        ({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": True}, 1),
        ({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False}, 0),
    ],
)
def test_only_some_services_need_node_ports(spec: Obj, missing: int) -> None:
    ports = [{"port": 80}, {"port": 81, "nodePort": 30081}]
    assert len(ports_without_node_port({"spec": {**spec, "ports": ports}})) == missing


def test_finalizers_of_a_namespace_are_named_one_by_one_when_finalizing() -> None:
    namespace: Obj = {"spec": {"finalizers": ["kubernetes", "odd"]}}
    assert validate_namespace_finalizers(namespace)[0].field == "spec.finalizers"
    assert validate_namespace_finalizers(namespace, indexed=True)[0].field == "spec.finalizers[1]"


def test_a_template_gets_less_filled_in_than_a_pod() -> None:
    template: Obj = {"spec": {"containers": [{"name": "a", "image": "b", "resources": {"limits": {"cpu": "1"}}}]}}
    default_pod_template(template)
    assert "enableServiceLinks" not in template["spec"]
    assert template["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "1"}}
    assert not validate_pod_template(template, "spec.template")


def test_a_bad_template_is_refused_at_its_own_path() -> None:
    template: Obj = {"metadata": {"labels": {"a b": "c"}}, "spec": {"containers": [{"name": "a"}]}}
    default_pod_template(template)
    fields = [error.field for error in validate_pod_template(template, "spec.template")]
    assert fields == ["spec.template.labels", "spec.template.spec.containers[0].image"]
