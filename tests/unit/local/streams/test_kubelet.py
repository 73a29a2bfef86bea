# SPDX-License-Identifier: Apache-2.0
"""Locations and refusals, word for word as kube-apiserver 1.36.3 gave them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs

import pytest

from springtide.local.status import StatusError
from springtide.local.streams import kubelet
from springtide.local.streams.channels import Wanted
from springtide.local.streams.kubelet import Kubelet

NODE = Kubelet("127.0.0.1", 10250)


def a_pod(*containers: str, init: tuple[str, ...] = (), node: str = "n") -> dict[str, Any]:
    return {
        "metadata": {"name": "p", "namespace": "ns"},
        "spec": {
            "nodeName": node,
            "containers": [{"name": name} for name in containers],
            "initContainers": [{"name": name} for name in init],
        },
    }


def a_node(addresses: list[dict[str, str]], port: int = 0, features: list[str] | None = None) -> dict[str, Any]:
    return {
        "status": {
            "addresses": addresses,
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
            "declaredFeatures": features or [],
        }
    }


IP, HOST = {"type": "InternalIP", "address": "10.0.0.7"}, {"type": "Hostname", "address": "worker"}


def test_a_node_is_reached_by_its_address_first_and_by_its_own_port() -> None:
    assert kubelet.kubelet_of(a_node([HOST, IP], 1234), None) == Kubelet("10.0.0.7", 1234)
    assert kubelet.kubelet_of(a_node([HOST]), None) == Kubelet("worker", 10250)


def test_a_node_may_declare_that_it_speaks_websocket() -> None:
    assert kubelet.kubelet_of(a_node([IP], 1, ["ExtendWebSocketsToKubelet"]), None).speaks_websocket


@pytest.mark.parametrize(
    ("addresses", "known"), [([], "[]"), ([{"type": "Odd", "address": "x"}], "[{Odd x}]")], ids=["none", "odd"]
)
def test_a_node_without_a_usable_address_cannot_be_asked(addresses: list[dict[str, str]], known: str) -> None:
    with pytest.raises(StatusError) as refused:
        kubelet.kubelet_of(a_node(addresses), None)
    assert (refused.value.code, refused.value.reason) == (500, "")
    assert refused.value.message == f"no preferred addresses found; known addresses: {known}"


@pytest.mark.parametrize(
    ("query", "target"),
    [
        ("", "/containerLogs/ns/p/a"),
        ("container=a&follow", "/containerLogs/ns/p/a"),
        ("follow=maybe&previous=0&timestamps=false", "/containerLogs/ns/p/a?follow=true"),
        (
            "timestamps=1&previous=true&tailLines=5&follow=true",
            "/containerLogs/ns/p/a?follow=true&previous=true&tailLines=5&timestamps=true",
        ),
        (
            "container=a&sinceTime=2020-01-01T01:00:00%2B01:00&limitBytes=10",
            "/containerLogs/ns/p/a?limitBytes=10&sinceTime=2020-01-01T00%3A00%3A00Z",
        ),
        ("sinceSeconds=3", "/containerLogs/ns/p/a?sinceSeconds=3"),
    ],
)
def test_log_options_become_the_kubelets(query: str, target: str) -> None:
    assert kubelet.log_location(NODE, a_pod("a"), parse_qs(query)).target == target


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        (
            "tailLines=-1&limitBytes=0&sinceSeconds=0",
            422,
            'PodLogOptions "p" is invalid: [tailLines: Invalid value: -1: must be greater than or equal to 0, '
            "limitBytes: Invalid value: 0: must be greater than 0, "
            "sinceSeconds: Invalid value: 0: must be greater than 0]",
        ),
        (
            "sinceSeconds=1&sinceTime=2020-01-01T00:00:00Z",
            422,
            'PodLogOptions "p" is invalid: []: Forbidden: '
            "at most one of `sinceTime` or `sinceSeconds` may be specified",
        ),
        ("stream=Stdout", 422, 'PodLogOptions "p" is invalid: stream: Forbidden: may not be specified'),
        ("tailLines=abc", 400, 'strconv.ParseInt: parsing "abc": invalid syntax'),
        ("tailLines=-", 400, 'strconv.ParseInt: parsing "-": invalid syntax'),
        ("tailLines=9223372036854775808", 400, 'strconv.ParseInt: parsing "9223372036854775808": value out of range'),
        (
            "sinceTime=abc",
            400,
            'parsing time "abc" as "2006-01-02T15:04:05Z07:00": cannot parse "abc" as "2006"',
        ),
    ],
)
def test_bad_log_options_are_refused(query: str, code: int, message: str) -> None:
    with pytest.raises(StatusError) as refused:
        kubelet.check_log_options("p", parse_qs(query))
    assert (refused.value.code, refused.value.message) == (code, message)


@pytest.mark.parametrize(
    ("pod", "asked", "message"),
    [
        (a_pod("a", "b", init=("ini",)), "", "a container name must be specified for pod p, choose one of: [ini a b]"),
        (a_pod("a", "b"), "zz", "container zz is not valid for pod p"),
        (a_pod(), "", "a container name must be specified for pod p"),
    ],
)
def test_the_container_must_be_known(pod: dict[str, Any], asked: str, message: str) -> None:
    with pytest.raises(StatusError) as refused:
        kubelet.container_of(pod, asked)
    assert (refused.value.code, refused.value.message) == (400, message)


def test_any_container_may_be_asked_for_and_the_only_one_need_not_be() -> None:
    assert kubelet.container_of(a_pod("a", "b", init=("ini",)), "ini") == "ini"
    assert kubelet.container_of(a_pod("a", init=("ini",)), "") == "a"


def test_exec_speaks_of_input_output_and_error() -> None:
    query = parse_qs("command=sh&command=-c&command=echo%20a%26b&stdin=true&stdout=1&stderr=true&tty=false")
    location = kubelet.exec_location(NODE, a_pod("a"), query)
    assert location.target == "/exec/ns/p/a?command=sh&command=-c&command=echo+a%26b&error=1&input=1&output=1"
    assert location.url == "http://127.0.0.1:10250" + location.target
    assert kubelet.wanted(query) == Wanted(stdin=True, stdout=True, stderr=True)


def test_attach_and_port_forward_have_paths_of_their_own() -> None:
    assert (
        kubelet.attach_location(NODE, a_pod("a"), parse_qs("stdout=1&tty=1")).target == "/attach/ns/p/a?output=1&tty=1"
    )
    assert kubelet.forward_location(NODE, a_pod("a"), {}).target == "/portForward/ns/p"
    assert (
        kubelet.forward_location(NODE, a_pod("a"), {"ports": ["80", "81"]}).target == "/portForward/ns/p?port=80%2C81"
    )


def test_ports_must_be_numbers() -> None:
    with pytest.raises(StatusError, match=r'cannot convert to \[\]int32: strconv.ParseUint: parsing "abc"'):
        kubelet.forward_location(NODE, a_pod("a"), {"ports": ["abc"]})


def test_a_pod_without_a_node_has_no_streams() -> None:
    with pytest.raises(StatusError, match="pod p does not have a host assigned"):
        kubelet.node_name(a_pod("a", node=""))
    assert kubelet.node_name(a_pod("a")) == "n"


def test_addresses_of_ipv6_are_bracketed() -> None:
    assert Kubelet("::1", 1).at("/x").url == "http://[::1]:1/x"


NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}


def reported(state: dict[str, Any], **status: Any) -> dict[str, Any]:
    return {"phase": "Pending", "containerStatuses": [{"name": "main", "state": state}]} | status


@pytest.mark.parametrize(
    ("status", "age", "starting"),
    [
        pytest.param({}, 0, True, id="nothing is known of it"),
        pytest.param({"phase": "Pending"}, 9, True, id="waits for a node"),
        pytest.param(reported({"waiting": {"reason": "ContainerCreating"}}), 1, True, id="is being made"),
        pytest.param(reported({"waiting": {"reason": "PodInitializing"}}), 1, True, id="waits for init containers"),
        pytest.param(reported({"waiting": {"reason": "ContainerCreating"}}), 11, False, id="takes long"),
        pytest.param(reported({"waiting": {"reason": "ErrImagePull"}}), 1, False, id="cannot be made"),
        pytest.param(reported({"running": {}}), 1, False, id="runs in a pod whose other containers do not"),
        pytest.param({"phase": "Running"}, 1, False, id="runs"),
        pytest.param({"phase": "Failed"}, 1, False, id="has ended"),
        pytest.param({"phase": "Pending", "conditions": [UNSCHEDULABLE]}, 1, False, id="fits nowhere"),
    ],
)
def test_whether_a_container_is_about_to_run(status: dict[str, Any], age: int, starting: bool) -> None:
    pod = a_pod("main") | {"status": status}
    pod["metadata"]["creationTimestamp"] = (NOW - timedelta(seconds=age)).isoformat()
    assert kubelet.is_starting(pod, "main", NOW) is starting


@pytest.mark.parametrize("text", ["9" * 5000, "-" + "9" * 5000, "9223372036854775808"])
def test_a_number_of_any_length_is_refused_in_words(text: str) -> None:
    with pytest.raises(StatusError, match="value out of range"):
        kubelet.number({"tailLines": [text]}, "tailLines")
