# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import socket
import threading
from contextlib import closing

from tests import hostile

from springtide.elastic.protocol import wire
from springtide.elastic.ranks.transports.connections import Connections
from springtide.elastic.shared.members import Member

SECRET = b"s" * 32


def test_nobody_calls_for_a_generation_that_does_not_come_to_be() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        nobody = server.getsockname()
    members = [Member(1, 0, "a", 0, (nobody,)), Member(2, 1, "a", 1, (nobody,))]
    with closing(Connections(1, "a", SECRET)) as connections:
        connections.prepare(5, members)
        (calling,) = [each for each in threading.enumerate() if each.name == "tide-generation-5"]
        connections.cancel(5)
        calling.join(60)
        assert not calling.is_alive()


def test_connections_for_a_generation_that_does_not_come_to_be_are_closed() -> None:
    with closing(Connections(1, "a", SECRET)) as one, closing(Connections(2, "a", SECRET)) as other:
        members = [
            Member(id_, id_ - 1, "a", id_ - 1, tuple(each.addresses("127.0.0.1")))
            for id_, each in ((1, one), (2, other))
        ]
        for each in (one, other):
            each.prepare(5, members)
        ways = [each.neighbours(5, members, lambda: False) for each in (one, other)]
        for each in (one, other):
            each.cancel(5)
        assert [way.fileno() for found in ways for way in found or ()] == [-1] * 4


def test_no_message_of_a_caller_ends_a_rank() -> None:
    """Neither of one that does not know the secret nor of one that does; warnings of threads are errors here."""
    hello = {"generation": 5, "to": 1}
    heads = [*hostile.LINES.values(), *hostile.malformed(hello)]
    with closing(Connections(1, "a", SECRET)) as one, closing(Connections(2, "a", SECRET)) as other:
        address = one.addresses("127.0.0.1")[0]
        for line in hostile.LINES.values():
            with socket.create_connection(address, timeout=10) as connection:
                hostile.sent(connection, line)
        for head in heads:
            with socket.create_connection(address, timeout=10) as connection:
                wire.call(connection, wire.Caller.PEER, 9, SECRET)
                hostile.sent(connection, len(head).to_bytes(4, "big") + bytes(8) + head, 0.5)
        members = [
            Member(id_, id_ - 1, "a", id_ - 1, tuple(each.addresses("127.0.0.1")))
            for id_, each in ((1, one), (2, other))
        ]
        for each in (one, other):
            each.prepare(6, members)
        assert all(each.neighbours(6, members, lambda: False) for each in (one, other))
        for each in (one, other):
            each.forget(1 << 62)
