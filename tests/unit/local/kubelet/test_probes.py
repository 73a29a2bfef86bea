# SPDX-License-Identifier: Apache-2.0
"""What follows from a probe's answers, and how a gRPC health check is spoken."""

from __future__ import annotations

import asyncio
import errno
from typing import Any, cast

import pytest
from tests.unit.local.kubelet.builders import a_container

from springtide.kube.resources import Obj
from springtide.local.kubelet.probes import grpc_health
from springtide.local.kubelet.probes.answers import Answer, ProbeError, port_number, refusal
from springtide.local.kubelet.probes.prober import late
from springtide.local.kubelet.probes.thresholds import Streak, delay_before, period_of, timeout_of

# Thresholds


def verdicts(probe: dict[str, int], *answers: bool) -> list[bool | None]:
    streak, found = Streak(), []
    for answer in answers:
        streak = streak.then(answer)
        found.append(streak.verdict(probe))
    return found


def test_one_success_and_three_failures_are_verdicts_by_default() -> None:
    assert verdicts({}, True, False, False, False, True) == [True, None, None, False, True]


def test_a_failure_between_successes_begins_the_count_anew() -> None:
    assert verdicts({"successThreshold": 2}, True, False, True, True) == [None, None, None, True]


def test_the_first_question_waits_for_the_initial_delay_from_the_start_on() -> None:
    probe = {"initialDelaySeconds": 10}
    assert delay_before(probe, started=100.0, now=103.0) == 7.0
    assert delay_before(probe, started=100.0, now=200.0) == 0.0
    assert (delay_before({}, 100.0, 100.0), period_of({}), timeout_of({})) == (0.0, 10.0, 1.0)


# Ports and refusals

CONTAINER = {"name": "main", "ports": [{"name": "http", "containerPort": 8080}]}


def test_ports_have_numbers_or_names() -> None:
    assert [port_number(port, CONTAINER) for port in (80, "81", "http")] == [80, 81, 8080]


@pytest.mark.parametrize(
    ("port", "message"),
    [("https", "couldn't find port: https in container main"), (0, "invalid port number: 0"), (70000, "invalid port")],
)
def test_a_port_that_makes_no_sense_is_no_verdict(port: Any, message: str) -> None:
    with pytest.raises(ProbeError, match=message):
        port_number(port, CONTAINER)


def test_refusals_read_as_users_know_them() -> None:
    refused = ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed ('10.0.0.1', 80)")
    assert refusal(refused, "10.0.0.1:80") == "dial tcp 10.0.0.1:80: connect: connection refused"
    assert refusal(TimeoutError(), "10.0.0.1:80") == "dial tcp 10.0.0.1:80: i/o timeout"


# gRPC

SETTINGS, SETTINGS_ACK = b"\0\0\0\x04\0\0\0\0\0", b"\0\0\0\x04\x01\0\0\0\0"
HEADERS = b"\0\0\x01\x01\x04\0\0\0\x01\x88"
TRAILERS = b"\0\0\x01\x01\x05\0\0\0\x01\x88"


def data(payload: bytes, flags: int = 0) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([0, flags]) + b"\0\0\0\x01" + payload


class Written:
    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes) -> None:
        self.data += data

    async def drain(self) -> None:
        pass


async def checked(*frames: bytes, service: str = "", written: Written | None = None) -> Answer:
    reader = asyncio.StreamReader()
    reader.feed_data(b"".join(frames))
    reader.feed_eof()
    writer = cast(asyncio.StreamWriter, written or Written())
    return await grpc_health.check(reader, writer, service, "10.0.0.1:50051")


async def test_serving_is_healthy() -> None:
    written = Written()
    answer = await checked(SETTINGS, HEADERS, data(b"\0\0\0\0\x02\x08\x01"), service="db", written=written)
    assert answer == Answer(True, "service healthy")
    assert written.data.startswith(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + SETTINGS)
    assert b"/grpc.health.v1.Health/Check" in written.data
    assert data(b"\0\0\0\0\x04\x0a\x02db", flags=1) in written.data
    assert written.data.endswith(SETTINGS_ACK)


async def test_every_other_status_is_not() -> None:
    answer = await checked(HEADERS, data(b"\0\0\0\0\x02\x08\x02"))
    assert answer == Answer(False, 'service unhealthy (responded with "NOT_SERVING")')
    answer = await checked(HEADERS, data(b"\0\0\0\0\0"))
    assert answer == Answer(False, 'service unhealthy (responded with "UNKNOWN")')


async def test_padding_is_taken_off() -> None:
    answer = await checked(HEADERS, data(b"\x03\0\0\0\0\x02\x08\x01\0\0\0", flags=8))
    assert answer.healthy


async def test_pings_are_answered() -> None:
    written = Written()
    ping = b"\0\0\x08\x06\0\0\0\0\0payload!"
    await checked(ping, HEADERS, data(b"\0\0\0\0\x02\x08\x01"), written=written)
    assert written.data.endswith(b"\0\0\x08\x06\x01\0\0\0\0payload!")


@pytest.mark.parametrize("end", [TRAILERS, b"\0\0\x04\x03\0\0\0\0\x01\0\0\0\x01", b"\0\0\0\x07\0\0\0\0\0"])
async def test_an_answer_without_a_message_is_a_refusal(end: bytes) -> None:
    answer = await checked(SETTINGS, end)
    assert answer == Answer(False, "error: health rpc probe failed: the server refused the health check")


async def test_somebody_who_speaks_something_else_is_not_believed() -> None:
    with pytest.raises(ConnectionAbortedError):
        await checked(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def test_an_answer_that_is_late_says_from_where() -> None:
    container = a_container(ports=[{"name": "web", "containerPort": 8080}])
    asked: list[Obj] = [
        {"httpGet": {"port": "web", "path": "x"}},
        {"tcpSocket": {"port": "web"}},
        {"tcpSocket": {"port": 1, "host": "h"}},
        {"grpc": {"port": 9}},
    ]
    assert [late(probe, container, "10.0.0.1", 1.0) for probe in asked] == [
        'Get "http://10.0.0.1:8080/x": context deadline exceeded (Client.Timeout exceeded while awaiting headers)',
        "dial tcp 10.0.0.1:8080: i/o timeout",
        "dial tcp h:1: i/o timeout",
        "timeout: health rpc did not complete within 1s",
    ]


def test_a_clock_that_was_set_back_makes_no_probe_wait_for_it() -> None:
    assert delay_before({"initialDelaySeconds": 10}, started=5000.0, now=100.0) == 10.0
