# SPDX-License-Identifier: Apache-2.0
"""Answers after the DNS specification for Kubernetes services, with CoreDNS's choices where it leaves some."""

from __future__ import annotations

import socket
import struct
from typing import Any

import pytest

from springtide.local.network.names import dns
from springtide.local.network.names.zone import Zone


def a_service(name: str, **more: Any) -> dict[str, Any]:
    base = {"namespace": "default", "name": name, "address": "", "external": "", "affinity": 0}
    return base | {"ports": [], "endpoints": []} | more


HTTP = ["http", "TCP", 8080]
ZONE = Zone(
    {
        "services": [
            a_service(
                "web",
                address="10.96.7.1",
                ports=[{"name": "http", "protocol": "TCP", "port": 80, "targets": [["10.244.1.5", 8080]]}],
                endpoints=[{"address": "10.244.1.5", "hostname": "", "ports": [HTTP]}],
            ),
            a_service(
                "jobs",
                endpoints=[
                    {"address": "10.244.1.5", "hostname": "worker-0", "ports": [HTTP]},
                    {"address": "10.244.1.6", "hostname": "", "ports": [HTTP]},
                ],
            ),
            a_service("empty"),
            a_service("far", external="Example.com."),
            a_service("near", external="web.default.svc.cluster.local"),
            a_service("round", external="round.default.svc.cluster.local"),
        ]
    }
)
SVC = "default.svc.cluster.local"


def shown(kind: int, data: bytes) -> str:
    if kind == dns.A:
        return socket.inet_ntoa(data)
    if kind == dns.SRV:
        priority, weight, port = struct.unpack_from("!HHH", data)
        return f"{priority} {weight} {port} {name_of(data[6:])}"
    return name_of(data)


def name_of(data: bytes) -> str:
    labels, at = [], 0
    while data[at]:
        labels.append(data[at + 1 : at + 1 + data[at]].decode())
        at += 1 + data[at]
    return ".".join(labels)


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        pytest.param(f"web.{SVC}", dns.A, ["10.96.7.1"], id="a service"),
        pytest.param(f"web.{SVC}", dns.AAAA, [], id="which has no IPv6 address, but exists"),
        pytest.param(f"jobs.{SVC}", dns.A, ["10.244.1.5", "10.244.1.6"], id="a headless service"),
        pytest.param(f"worker-0.jobs.{SVC}", dns.A, ["10.244.1.5"], id="a pod by hostname and subdomain"),
        pytest.param(f"10-244-1-6.jobs.{SVC}", dns.A, ["10.244.1.6"], id="an endpoint without a hostname"),
        pytest.param(f"10-244-1-5.web.{SVC}", dns.A, ["10.244.1.5"], id="an endpoint behind an address"),
        pytest.param(f"_http._tcp.web.{SVC}", dns.SRV, [f"0 100 80 web.{SVC}"], id="a named port"),
        pytest.param(
            f"_http._tcp.jobs.{SVC}",
            dns.SRV,
            [f"0 100 8080 worker-0.jobs.{SVC}", f"0 100 8080 10-244-1-6.jobs.{SVC}"],
            id="a named port of a headless service",
        ),
        pytest.param("10-244-1-9.default.pod.cluster.local", dns.A, ["10.244.1.9"], id="a pod by address"),
        pytest.param("1.7.96.10.in-addr.arpa", dns.PTR, [f"web.{SVC}"], id="a service's address"),
        pytest.param("6.1.244.10.in-addr.arpa", dns.PTR, [f"10-244-1-6.jobs.{SVC}"], id="an endpoint's address"),
        pytest.param(SVC, dns.A, [], id="a namespace"),
        pytest.param("svc.cluster.local", dns.A, [], id="all services"),
        pytest.param("cluster.local", dns.A, [], id="the zone"),
    ],
)
def test_names_that_exist(name: str, kind: int, expected: list[str]) -> None:
    found = ZONE.find(name, kind)
    assert found.code == dns.OK
    assert [shown(record.kind, record.data) for record in found.records] == expected


@pytest.mark.parametrize(
    "name",
    [
        f"nobody.{SVC}",
        f"empty.{SVC}",
        f"worker-9.jobs.{SVC}",
        f"_ftp._tcp.web.{SVC}",
        "web.elsewhere.svc.cluster.local",
        "10-244-1-999.default.pod.cluster.local",
        "default.pod.cluster.local",
        "example.cluster.local",
        "9.9.244.10.in-addr.arpa",
    ],
)
def test_names_that_do_not_exist(name: str) -> None:
    assert ZONE.owns(name)
    assert ZONE.find(name, dns.A).code == dns.NO_NAME


@pytest.mark.parametrize("name", ["example.com", "mycluster.local", "1.1.168.192.in-addr.arpa", ""])
def test_names_that_are_others(name: str) -> None:
    assert not ZONE.owns(name)


def test_an_alias_for_a_name_outside_says_whom_to_ask() -> None:
    found = ZONE.find(f"far.{SVC}", dns.A)
    assert ([shown(r.kind, r.data) for r in found.records], found.elsewhere) == (["example.com"], "example.com")


def test_an_alias_for_a_name_inside_comes_with_its_address() -> None:
    found = ZONE.find(f"near.{SVC}", dns.A)
    assert [shown(record.kind, record.data) for record in found.records] == [f"web.{SVC}", "10.96.7.1"]


def test_an_alias_for_itself_ends() -> None:
    assert len(ZONE.find(f"round.{SVC}", dns.A).records) == 1


def test_several_addresses_take_turns_at_being_first() -> None:
    first = {shown(dns.A, ZONE.find(f"jobs.{SVC}", dns.A, turn).records[0].data) for turn in range(4)}
    assert first == {"10.244.1.5", "10.244.1.6"}
