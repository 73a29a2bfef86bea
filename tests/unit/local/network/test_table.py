# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import msgspec
import pytest

from springtide.local.network.table import Rows, Service, Slice, table


def a_service(name: str = "web", namespace: str = "default", **spec: Any) -> Service:
    ports = [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 8080}]
    whole = {"clusterIP": "10.96.7.1", "ports": ports} | spec
    return msgspec.convert({"metadata": {"name": name, "namespace": namespace}, "spec": whole}, Service)


def an_endpoint(number: int, hostname: str | None = None, **conditions: bool | None) -> dict[str, Any]:
    return {"addresses": [f"10.244.1.{number}"], "conditions": conditions, "hostname": hostname}


def a_slice(*endpoints: dict[str, Any], name: str = "web-1", of: str = "web", **more: Any) -> Slice:
    metadata = {"name": name, "namespace": "default", "labels": {"kubernetes.io/service-name": of}}
    ports = [{"name": "http", "port": 8080, "protocol": "TCP"}]
    whole = {"metadata": metadata, "addressType": "IPv4", "ports": ports, "endpoints": list(endpoints)}
    return msgspec.convert(whole | more, Slice)


def row(service: Service, *slices: Slice) -> dict[str, Any]:
    (only,) = table([service], slices)["services"]
    return dict(only)


def targets(*endpoints: dict[str, Any]) -> list[Any]:
    return list(row(a_service(), a_slice(*endpoints))["ports"][0]["targets"])


def test_a_service_with_its_endpoints() -> None:
    assert row(a_service(), a_slice(an_endpoint(5, "worker-0", ready=True))) == {
        "namespace": "default",
        "name": "web",
        "address": "10.96.7.1",
        "external": "",
        "affinity": 0,
        "ports": [{"name": "http", "protocol": "TCP", "port": 80, "targets": [["10.244.1.5", 8080]]}],
        "endpoints": [{"address": "10.244.1.5", "hostname": "worker-0", "ports": [["http", "TCP", 8080]]}],
    }


@pytest.mark.parametrize(
    ("endpoints", "expected"),
    [
        pytest.param([an_endpoint(5, ready=False), an_endpoint(6, ready=True)], [6], id="ready ones"),
        pytest.param([an_endpoint(5, ready=None)], [5], id="unknown counts as ready"),
        pytest.param(
            [an_endpoint(5, ready=False, serving=True, terminating=True), an_endpoint(6, ready=True)],
            [6],
            id="not those on their way out while others are ready",
        ),
        pytest.param(
            [an_endpoint(5, ready=False, serving=True, terminating=True), an_endpoint(6, ready=False)],
            [5],
            id="those on their way out when nobody else is there",
        ),
        pytest.param([], [], id="nobody"),
    ],
)
def test_connections_go_to(endpoints: list[dict[str, Any]], expected: list[int]) -> None:
    assert targets(*endpoints) == [[f"10.244.1.{number}", 8080] for number in expected]


def test_names_lead_only_to_ready_endpoints() -> None:
    leaving = an_endpoint(5, ready=False, serving=True, terminating=True)
    assert row(a_service(clusterIP="None"), a_slice(leaving))["endpoints"] == []


@pytest.mark.parametrize("address", ["None", "", "fd00::1"])
def test_services_without_an_address_of_this_network(address: str) -> None:
    assert row(a_service(clusterIP=address))["address"] == ""


def test_a_name_for_somebody_outside() -> None:
    found = row(a_service(type="ExternalName", externalName="example.com", clusterIP=""))
    assert (found["address"], found["external"]) == ("", "example.com")


@pytest.mark.parametrize(
    ("spec", "seconds"),
    [
        ({}, 0),
        ({"sessionAffinity": "ClientIP"}, 10800),
        ({"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 60}}}, 60),
    ],
)
def test_how_long_a_client_stays(spec: dict[str, Any], seconds: int) -> None:
    assert row(a_service(**spec))["affinity"] == seconds


def test_a_port_leads_only_to_ports_of_its_name_and_protocol() -> None:
    ports = [{"name": "dns", "port": 53, "protocol": "UDP"}, {"name": "dns-tcp", "port": 53, "protocol": "TCP"}]
    behind = [{"name": "dns", "port": 5353, "protocol": "UDP"}, {"name": "other", "port": 1, "protocol": "TCP"}]
    found = row(a_service(ports=ports), a_slice(an_endpoint(5), ports=behind))
    assert [port["targets"] for port in found["ports"]] == [[["10.244.1.5", 5353]], []]


def test_slices_of_ipv6_and_of_other_services_are_not_used() -> None:
    six = a_slice({"addresses": ["fd00::5"]}, name="web-6", addressType="IPv6")
    assert row(a_service(), six, a_slice(an_endpoint(5), of="other"))["endpoints"] == []


def test_the_servers_own_service_has_a_name_but_no_targets() -> None:
    own = a_service("kubernetes", clusterIP="10.96.0.1")
    found = row(own, a_slice(an_endpoint(5), of="kubernetes"))
    assert (found["address"], found["endpoints"], found["ports"][0]["targets"]) == ("10.96.0.1", [], [])


def test_the_order_of_objects_does_not_matter() -> None:
    services = [a_service("a"), a_service("b")]
    slices = [a_slice(an_endpoint(5), name="x", of="a"), a_slice(an_endpoint(6), name="y", of="a")]
    assert table(services, slices) == table(services[::-1], slices[::-1])


def test_a_slice_without_endpoints_or_ports_is_an_empty_one() -> None:
    assert row(a_service(), a_slice(endpoints=None, ports=None))["endpoints"] == []


def test_the_row_of_an_unchanged_service_is_not_made_again() -> None:
    rows, service, piece = Rows(), a_service(), a_slice(an_endpoint(5, ready=True))
    first = table([service], [piece], rows)["services"][0]
    assert table([service], [piece], rows)["services"][0] is first


def test_a_row_follows_its_service_and_its_slices() -> None:
    rows, service, piece = Rows(), a_service(), a_slice(an_endpoint(5, ready=True))
    other = a_slice(an_endpoint(6, ready=True))
    more = a_slice(an_endpoint(7, ready=True), name="web-2")
    for services, slices in (
        ([service], [piece]),
        ([service], [other]),
        ([service], [other, more]),
        ([service], []),
        ([a_service(sessionAffinity="ClientIP")], []),
    ):
        assert table(services, slices, rows) == table(services, slices)


def test_rows_of_deleted_services_are_forgotten() -> None:
    rows, service = Rows(), a_service()
    first = table([service], [], rows)["services"][0]
    rows.keep([])
    assert table([service], [], rows)["services"][0] is not first
