# SPDX-License-Identifier: Apache-2.0
"""Bytes written out by hand after linux/rtnetlink.h and linux/if_link.h; integration tests show that kernels agree."""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Iterator

import pytest

from springtide.local.network.kernel import netlink
from springtide.local.network.kernel.netlink import NEW_LINK, Route


def test_an_attribute_is_padded_to_four_bytes_but_says_its_own_length() -> None:
    assert netlink.attribute(3, b"lo\0") == b"\x07\0\x03\0lo\0\0"


def test_a_message_says_its_length_first() -> None:
    assert netlink.message(16, 0x605, b"abcd", 7) == struct.pack("=IHHII", 20, 16, 0x605, 7, 0) + b"abcd"


def test_a_bridge() -> None:
    expected = bytes.fromhex(
        "00000000000000000000000000000000"  # any family, no index, no flags
        "09000300706f647300000000"  # name "pods"
        "0a0001000a580af400010000"  # hardware address
        "10001200"  # link info ...
        "0b0001006272696467650000"  # ... of kind "bridge"
    )
    assert netlink.bridge("pods", bytes.fromhex("0a580af40001")) == expected


def test_a_cable_names_both_ends_and_the_other_ends_namespace() -> None:
    made = netlink.veth("pod1.2", 5, "eth0", bytes.fromhex("0a580af40102"), 9)
    assert made[:16] == bytes.fromhex("00000000000000000100000001000000")  # up
    assert bytes.fromhex("0b000300706f64312e320000") in made  # our name
    assert bytes.fromhex("08000a0005000000") in made  # a port of link 5
    assert bytes.fromhex("090001007665746800000000") in made  # kind "veth"
    peer = bytes.fromhex("00" * 16 + "090003006574683000000000" + "0a0001000a580af401020000" + "08001c0009000000")
    assert struct.pack("=HH", 4 + len(peer), 1) + peer in made


def test_a_cable_to_no_bridge() -> None:
    assert struct.pack("=HH", 8, 10) not in netlink.veth("a", 0, "b", bytes(6), 9)


def test_an_address_with_its_prefix() -> None:
    expected = bytes.fromhex("0210000003000000" + "080002000af40102" + "080001000af40102")
    assert netlink.address(3, "10.244.1.2", 16) == expected


def test_the_default_route() -> None:
    assert netlink.default_route("10.244.0.1") == bytes.fromhex("02000000fe04000100000000" + "080005000af40001")


def test_all_addresses_of_a_network_are_local() -> None:
    expected = bytes.fromhex("02100000ff04fe0200000000" + "080001000a600000" + "0800040001000000")
    assert netlink.local_route("10.96.0.0", 16, 1) == expected


class Kernel:
    """The other end of a conversation."""

    def __init__(self) -> None:
        self.ours, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)

    def acknowledge(self, sequence: int, code: int = 0) -> None:
        self.theirs.send(struct.pack("=IHHIIi", 36, 2, 0, sequence, 0, -code) + bytes(16))


@pytest.fixture
def kernel() -> Iterator[Kernel]:
    made = Kernel()
    yield made
    made.ours.close()
    made.theirs.close()


def test_a_request_is_done_when_the_kernel_acknowledges_it(kernel: Kernel) -> None:
    kernel.acknowledge(0)  # left over from another's question
    kernel.acknowledge(1)
    Route(kernel.ours).create(NEW_LINK, b"body")
    length, kind, flags, *_ = struct.unpack_from("=IHHII", kernel.theirs.recv(100))
    assert (length, kind, flags) == (20, NEW_LINK, 0x605)  # request, acknowledge, exclusive, create


def test_what_the_kernel_refuses_is_an_os_error(kernel: Kernel) -> None:
    kernel.acknowledge(1, errno.EPERM)
    with pytest.raises(PermissionError, match=os.strerror(errno.EPERM)):
        Route(kernel.ours).create(NEW_LINK, b"")


def test_what_is_there_already_is_well_where_that_is_all_one_wants(kernel: Kernel) -> None:
    kernel.acknowledge(1, errno.EEXIST)
    Route(kernel.ours).ensure(NEW_LINK, b"")


def test_a_link_that_is_gone_already_needs_no_removing(kernel: Kernel) -> None:
    kernel.acknowledge(1, errno.ENODEV)
    Route(kernel.ours).remove_link("pod1.2")


def test_the_index_of_a_link_is_read_from_the_answer(kernel: Kernel) -> None:
    kernel.theirs.send(struct.pack("=IHHII", 32, NEW_LINK, 0, 1, 0) + struct.pack("=BxHiII", 0, 1, 42, 0, 0))
    assert Route(kernel.ours).index("eth0") == 42
