# SPDX-License-Identifier: Apache-2.0
"""Addresses that a user of a namespace writes into objects lead to no port of this machine through the API server."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.parse import quote

import pytest
from tests.contract.apiserver.servers import Server
from tests.robustness.asking import ask, assert_refused, send

SPACE = "/api/v1/namespaces/robust"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/robust/endpointslices"
MERGE = {"Content-Type": "application/merge-patch+json"}
MACHINE = ["127.0.0.1", "127.0.0.53", "127.0.1.1", "169.254.169.254", "0.0.0.0", "::1", "::ffff:127.0.0.1", "fe80::1"]


@pytest.fixture
def secret_port() -> Iterator[int]:
    """A program of this machine that nobody may reach; a connection to it fails the test."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        yield listener.getsockname()[1]
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()


def a_pod(server: Server, name: str, address: str = "") -> None:
    spec = {"containers": [{"name": "c", "image": "x"}], "automountServiceAccountToken": False}
    send(server, "POST", f"{SPACE}/pods", {"metadata": {"name": name}, "spec": spec})
    if address:
        status = {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]}
        send(server, "PATCH", f"{SPACE}/pods/{name}/status", {"status": status}, MERGE)


def removed(server: Server, *paths: str) -> None:
    for path in paths:
        send(server, "DELETE", path, {"gracePeriodSeconds": 0})


@pytest.mark.parametrize("address", MACHINE)
def test_a_forged_pod_address_leads_nowhere(server: Server, secret_port: int, address: str) -> None:
    a_pod(server, "forged", address)
    for scheme in ("", "https:"):
        answer = ask(server, "GET", f"{SPACE}/pods/{scheme}forged:{secret_port}/proxy/")
        assert_refused(answer, 400)
    removed(server, f"{SPACE}/pods/forged")


@pytest.mark.parametrize("address", MACHINE)
def test_endpoints_on_this_machine_are_refused(server: Server, address: str) -> None:
    subset = {"addresses": [{"ip": address}], "ports": [{"port": 80}]}
    refused = send(server, "POST", f"{SPACE}/endpoints", {"metadata": {"name": "forged"}, "subsets": [subset]})
    assert_refused(refused, 422)
    family = "IPv6" if ":" in address else "IPv4"
    piece = {"addressType": family, "endpoints": [{"addresses": [address]}], "ports": [{"port": 80}]}
    assert_refused(send(server, "POST", SLICES, {"metadata": {"name": "forged"}} | piece), 422)


@pytest.mark.parametrize(
    "reference",
    [
        None,
        {"kind": "Pod", "namespace": "robust", "name": "honest"},
        {"kind": "Pod", "namespace": "robust", "name": "nobody"},
        {"kind": "Pod", "namespace": "kube-system", "name": "honest"},
        {"kind": "Node", "name": "honest"},
    ],
)
def test_an_endpoint_counts_only_if_a_pod_has_its_address(server: Server, reference: dict[str, Any] | None) -> None:
    a_pod(server, "honest", "10.244.1.9")
    service = {"metadata": {"name": "forged"}, "spec": {"ports": [{"port": 80}]}}
    send(server, "POST", f"{SPACE}/services", service)
    address: dict[str, Any] = {"ip": "192.0.2.1"} | ({"targetRef": reference} if reference else {})
    subset = {"addresses": [address], "ports": [{"port": 80}]}
    made = send(server, "POST", f"{SPACE}/endpoints", {"metadata": {"name": "forged"}, "subsets": [subset]})
    assert made.status == 201, made.body
    answer = ask(server, "GET", f"{SPACE}/services/forged/proxy/")
    assert_refused(answer, 503)
    assert answer.message == 'no endpoints available for service "forged"'
    removed(server, f"{SPACE}/endpoints/forged", f"{SPACE}/services/forged", f"{SPACE}/pods/honest")


@pytest.mark.parametrize("port", ["{0}", "0", "65536", "9" * 5000, "\u0661", "-1", "http"])
def test_a_node_on_this_machine_shows_no_other_port_of_it(server: Server, secret_port: int, port: str) -> None:
    send(server, "POST", "/api/v1/nodes", {"metadata": {"name": "forged"}})
    status = {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 1}},
    }
    send(server, "PATCH", "/api/v1/nodes/forged/status", {"status": status}, MERGE)
    answer = ask(server, "GET", f"/api/v1/nodes/forged:{quote(port.format(secret_port))}/proxy/")
    assert_refused(answer, 400)
    removed(server, "/api/v1/nodes/forged")


@pytest.mark.parametrize("port", ["0", "65536", "9" * 5000, "%D9%A1", "-1", "x"])
def test_ports_that_are_none_are_refused(server: Server, port: str) -> None:
    a_pod(server, "ported", "10.244.1.9")
    service = {"metadata": {"name": "ported"}, "spec": {"ports": [{"port": 80}]}}
    send(server, "POST", f"{SPACE}/services", service)
    assert ask(server, "GET", f"{SPACE}/services/ported:{port}/proxy/").status == 503
    if port != "0":
        assert_refused(ask(server, "GET", f"{SPACE}/pods/ported:{port}/proxy/"), 400)
    forwarded = ask(server, "GET", f"{SPACE}/pods/ported/portforward?ports={port}")
    assert json.loads(forwarded.body)["code"] == 400
    removed(server, f"{SPACE}/services/ported", f"{SPACE}/pods/ported")
