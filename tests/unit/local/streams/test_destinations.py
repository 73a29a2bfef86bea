# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import ssl
from typing import Any

import pytest

from springtide.local.status import StatusError
from springtide.local.streams import destinations
from springtide.local.streams.destinations import Behind, Name, parse_name
from springtide.local.streams.kubelet import Kubelet
from springtide.local.streams.plain_proxy import bent_back

TLS = ssl.create_default_context()
POD: dict[str, Any] = {
    "metadata": {"namespace": "d", "name": "p"},
    "spec": {"containers": [{"name": "a"}, {"name": "b", "ports": [{"containerPort": 8080}, {"containerPort": 9}]}]},
    "status": {"podIPs": [{"ip": "10.0.0.3"}]},
}
ENDPOINTS: dict[str, Any] = {
    "subsets": [
        {
            "addresses": [
                {"ip": "10.0.0.3", "targetRef": {"kind": "Pod", "namespace": "d", "name": "p"}},
                {"ip": "10.0.0.4"},
            ],
            "ports": [{"name": "web", "port": 8080}],
        }
    ]
}
BEHIND = Behind({"p": POD}.get, lambda ready: ready[-1])


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("web", Name("http", "web", "")),
        ("web:80", Name("http", "web", "80")),
        ("https:web:443", Name("https", "web", "443")),
        (":web:", Name("http", "web", "")),
    ],
)
def test_names_are_taken_apart(text: str, name: Name) -> None:
    assert parse_name(text, "pod") == name


@pytest.mark.parametrize("text", ["", ":", "one:x:y:z", "ftp:web:21"])
def test_bad_names_are_refused(text: str) -> None:
    with pytest.raises(StatusError, match=f'invalid pod request "{text}"'):
        parse_name(text, "pod")


def test_a_pod_is_reached_at_its_first_declared_port_or_the_asked_one() -> None:
    at = destinations.pod_destination
    assert at(POD, parse_name("p", "pod"), "/x", TLS).url == "http://10.0.0.3:8080/x"
    assert at(POD, parse_name("https:p:1", "pod"), "/x", TLS).url == "https://10.0.0.3:1/x"
    bare = POD | {"spec": {"containers": []}}
    assert at(bare, parse_name("p", "pod"), "/", TLS).port == 80


@pytest.mark.parametrize(
    "ip",
    [
        "",
        "127.0.0.1",
        "127.5.0.9",
        "::1",
        "::ffff:127.0.0.1",
        "fe80::1",
        "169.254.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "nonsense",
    ],
)
def test_addresses_that_are_not_the_pods_own_are_refused(ip: str) -> None:
    pod = POD | {"status": {"podIPs": [{"ip": ip}]}}
    with pytest.raises(StatusError, match="address not allowed"):
        destinations.pod_destination(pod, parse_name("p", "pod"), "/", TLS)


def test_loopback_is_allowed_where_pods_live_there() -> None:
    pod = POD | {"status": {"podIPs": [{"ip": "127.3.0.9"}]}}
    assert destinations.pod_destination(pod, parse_name("p", "pod"), "/", TLS, loopback=True).host == "127.3.0.9"


@pytest.mark.parametrize("ip", ["127.0.0.1", "127.0.0.53", "127.0.1.1", "::1", "::ffff:127.0.0.1", "0.0.0.0"])
def test_the_machines_own_addresses_are_no_pods_even_there(ip: str) -> None:
    pod = POD | {"status": {"podIPs": [{"ip": ip}]}}
    with pytest.raises(StatusError, match="address not allowed"):
        destinations.pod_destination(pod, parse_name("p:6443", "pod"), "/", TLS, loopback=True)


def test_a_service_leads_to_a_pod_behind_it() -> None:
    service = {"spec": {"ports": [{"name": "web", "port": 80}]}}
    name = parse_name("s:80", "service")
    port = destinations.service_port(service, name)
    location = destinations.service_destination(ENDPOINTS, name, port, "/x", TLS, BEHIND)
    assert location.url == "http://10.0.0.3:8080/x"


def test_a_service_without_the_port_or_without_pods_is_unavailable() -> None:
    with pytest.raises(StatusError, match='no service port 81 found for service "s"'):
        destinations.service_port({"spec": {}}, parse_name("s:81", "service"))
    with pytest.raises(StatusError, match='no endpoints available for service "s"') as refused:
        destinations.service_destination({}, parse_name("s", "service"), "", "/", TLS, BEHIND)
    assert refused.value.code == 503


@pytest.mark.parametrize(
    "change",
    [
        {"ip": "10.0.0.99"},
        {"targetRef": {"kind": "Pod", "namespace": "d", "name": "another"}},
        {"targetRef": {"kind": "Pod", "namespace": "kube-system", "name": "p"}},
        {"targetRef": {"kind": "Node", "namespace": "d", "name": "p"}},
        {"targetRef": None},
    ],
)
def test_an_endpoint_that_is_no_pods_address_leads_nowhere(change: dict[str, Any]) -> None:
    address = ENDPOINTS["subsets"][0]["addresses"][0] | change
    forged = {"subsets": [ENDPOINTS["subsets"][0] | {"addresses": [address]}]}
    with pytest.raises(StatusError, match="no endpoints available"):
        destinations.service_destination(forged, parse_name("s:80", "service"), "web", "/x", TLS, BEHIND)


def test_a_node_on_loopback_is_reached_at_its_kubelet_alone() -> None:
    node, at = Kubelet("127.0.0.1", 10250, TLS), destinations.node_destination
    assert at(node, parse_name("n", "node"), "/", TLS, loopback=True).port == 10250
    for port in ("6443", "22"):
        with pytest.raises(StatusError, match="address not allowed"):
            at(node, parse_name(f"n:{port}", "node"), "/", TLS, loopback=True)


def test_a_node_is_its_kubelet_unless_another_port_is_asked_for() -> None:
    node = Kubelet("10.0.0.7", 10250, TLS)
    at = destinations.node_destination
    assert at(node, parse_name("n", "node"), "/healthz", TLS).url == "https://10.0.0.7:10250/healthz"
    assert at(node, parse_name("n:10250", "node"), "/", TLS).tls is TLS
    assert at(node, parse_name("n:9100", "node"), "/", TLS).url == "http://10.0.0.7:9100/"


@pytest.mark.parametrize(
    ("target", "seen"),
    [
        ("/login?next=a", "/proxy/login?next=a"),
        ("http://10.0.0.3:8080/login", "/proxy/login"),
        ("http://10.0.0.3:8080", "/proxy/"),
        ("details", "details"),
        ("https://elsewhere.example/x", "https://elsewhere.example/x"),
    ],
)
def test_redirects_stay_inside_the_proxy(target: str, seen: str) -> None:
    assert bent_back(target, "10.0.0.3", "/proxy/") == seen
