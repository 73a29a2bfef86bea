# SPDX-License-Identifier: Apache-2.0
"""Where ranks and the launcher await callers, and how long."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest
from tests.integration.elastic.launching import until

from springtide.elastic.ranks.transports import connections
from springtide.elastic.ranks.transports.connections import Connections
from springtide.elastic.shared import addresses, listeners
from springtide.elastic.shared.members import Member

SECRET = b"s" * 32


@pytest.fixture
def local() -> Iterator[Connections]:
    with closing(Connections(0, "here", SECRET, ("lo",))) as found:
        yield found


def test_a_door_has_the_same_port_at_all_its_addresses() -> None:
    with ExitStack() as opened:
        found = [opened.enter_context(listener) for listener in listeners.at(["127.0.0.1", "127.0.0.2"], 5)]
        assert [listener.getsockname()[0] for listener in found] == ["127.0.0.1", "127.0.0.2"]
        assert len({listener.getsockname()[1] for listener in found}) == 1


def test_a_port_that_is_taken_at_another_address_is_not_insisted_on(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.2", 0)) as taken:
        asked = [taken.getsockname()[1]]
        real = socket.create_server

        def create(address: tuple[str, int], **options: int) -> socket.socket:
            return real((address[0], address[1] or (asked.pop() if asked else 0)), **options)  # type: ignore[arg-type]

        monkeypatch.setattr(socket, "create_server", create)
        for listener in listeners.at(["127.0.0.1", "127.0.0.2"], 5):
            with listener:
                assert listener.getsockname()[1] != taken.getsockname()[1]


def test_an_open_door_is_found_over_ipv4_and_ipv6() -> None:
    (listener,) = listeners.everywhere(5)
    with listener:
        for host in ("127.0.0.1", "::1") if "::1" in addresses.own() else ("127.0.0.1",):
            socket.create_connection((host, listener.getsockname()[1]), timeout=5).close()


def test_in_a_local_run_ranks_are_open_to_this_machine_alone(local: Connections) -> None:
    found = local.addresses("192.0.2.1")
    assert found
    assert all(addresses.is_loopback(address) for address, _ in found)


def test_an_interface_without_an_address_is_named() -> None:
    with pytest.raises(OSError, match="nonsense0 has no address on this host"):
        Connections(0, "here", SECRET, ("nonsense0",))


def test_who_says_a_byte_now_and_then_is_not_waited_for(local: Connections, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_PATIENCE", 0.5)
    with socket.create_connection(local.addresses("")[0], timeout=0.1) as caller:
        until(lambda: refused(caller, b"t"), "it is turned away")


def refused(caller: socket.socket, words: bytes) -> bool:
    try:
        caller.sendall(words)
    except ConnectionError:
        return True
    return False


def test_nobody_is_let_in_through_a_closed_door() -> None:
    found = Connections(0, "here", SECRET, ("lo",))
    at = found.addresses("")[0]
    found.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(at, timeout=10)


def test_there_are_only_so_many_who_have_proved_nothing(local: Connections) -> None:
    at = local.addresses("")[0]
    with ExitStack() as opened:
        callers = [opened.enter_context(socket.create_connection(at, timeout=20)) for _ in range(100)]
        for caller in callers[:36]:
            assert caller.recv(1) == b""


@pytest.mark.parametrize("address", [each for each in ("127.0.0.1", "::1") if each in addresses.own()])
def test_ranks_find_each_other_at(address: str) -> None:
    with closing(Connections(1, "a", SECRET)) as one, closing(Connections(2, "b", SECRET)) as other:
        ports = {each: dict(each.addresses(address))[address] for each in (one, other)}
        members = (
            Member(1, 0, "a", 0, ((address, ports[one]),)),
            Member(2, 1, "b", 0, ((address, ports[other]),)),
        )
        for each in (one, other):
            each.prepare(1, members)
        ways = one.neighbours(1, members, lambda: False), other.neighbours(1, members, lambda: False)
        assert ways[0] is not None
        assert ways[1] is not None
        ways[0][1].sendall(b"to the right")
        assert ways[1][0].recv(100) == b"to the right"
        for each in (one, other):
            each.forget(2)
