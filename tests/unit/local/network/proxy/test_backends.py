# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

from springtide.local.network.proxy.backends import Backends, service_ports

A, B, C = ("10.244.1.1", 80), ("10.244.1.2", 80), ("10.244.1.3", 80)


def test_targets_take_turns_and_all_are_offered() -> None:
    backends = Backends([A, B, C])
    assert [backends.order("x", 0.0) for _ in range(4)] == [[A, B, C], [B, C, A], [C, A, B], [A, B, C]]


def test_nobody_has_no_order() -> None:
    assert Backends().order("x", 0.0) == []


def test_a_client_stays_with_the_target_that_took_it() -> None:
    backends = Backends([A, B], affinity=100)
    backends.order("x", 0.0)
    backends.used("x", B, 0.0)  # the first one refused
    assert [backends.order("x", 50.0)[0] for _ in range(3)] == [B, B, B]


def test_a_client_is_forgotten_after_its_time() -> None:
    backends = Backends([A, B], affinity=100)
    backends.used("x", B, 0.0)
    assert {backends.order("x", 100.0)[0] for _ in range(2)} == {A, B}


def test_a_target_that_is_gone_keeps_nobody() -> None:
    backends = Backends([A, B], affinity=100)
    backends.used("x", B, 0.0)
    backends.update([A], 100)
    assert backends.order("x", 1.0) == [A]


def test_memory_of_clients_is_bounded_by_their_time() -> None:
    backends = Backends([A, B], affinity=10)
    for number in range(10_001):
        backends.used(str(number), B, 0.0)
    backends.used("late", A, 20.0)
    assert backends.order("late", 21.0)[0] == A


def a_service(address: str, *ports: tuple[str, int, list[Any]]) -> dict[str, Any]:
    rows = [{"name": "", "protocol": protocol, "port": port, "targets": targets} for protocol, port, targets in ports]
    return {"address": address, "affinity": 7, "ports": rows}


def test_doors_are_where_somebody_stands_behind_an_address() -> None:
    somebody = [["10.244.1.1", 80]]
    services = [
        a_service("10.96.7.1", ("TCP", 80, somebody), ("UDP", 53, somebody), ("TCP", 81, []), ("SCTP", 1, somebody)),
        a_service("", ("TCP", 80, somebody)),
    ]
    expected = {("10.96.7.1", 80, "TCP"): ((A,), 7), ("10.96.7.1", 53, "UDP"): ((A,), 7)}
    assert service_ports({"services": services}) == expected


def test_an_empty_table_has_no_doors() -> None:
    assert service_ports({}) == {}
