# SPDX-License-Identifier: Apache-2.0
"""Bytes written out by hand after linux/netfilter/nf_tables.h; the tests of uplinks show that kernels agree."""

from __future__ import annotations

import struct

from springtide.local.network.kernel import netfilter


def cut(data: bytes) -> list[tuple[int, int, int, bytes]]:
    """A batch as (type, flags, sequence, body)."""
    found, at = [], 0
    while at < len(data):
        length, kind, flags, sequence, _ = struct.unpack_from("=IHHII", data, at)
        found.append((kind, flags, sequence, data[at + 16 : at + length]))
        at += length
    return found


def test_a_batch_stands_between_its_borders() -> None:
    messages = cut(netfilter.batch(netfilter.removal("t")))
    assert [(kind, sequence) for kind, _, sequence, _ in messages] == [(16, 0), (0xA02, 1), (17, 2)]
    assert messages[0][3] == bytes.fromhex("0000000a")  # about nf_tables
    assert messages[1][3] == bytes.fromhex("02000000") + bytes.fromhex("0600010074000000")  # IPv4, table "t"


def test_masquerading_makes_table_chain_and_rule_anew() -> None:
    kinds = [kind & 0xFF for kind, _, _ in netfilter.masquerade("t", "uplink")]
    assert kinds == [0, 2, 0, 3, 6]  # table, gone, table, chain, rule


def test_the_chain_hooks_in_where_source_addresses_are_translated() -> None:
    chain = netfilter.masquerade("t", "uplink")[3][2]
    assert bytes.fromhex("14000480" + "0800010000000004" + "0800020000000064") in chain  # postrouting, priority 100
    assert b"nat\0" in chain


def test_the_rule_speaks_of_packets_that_leave_by_the_link() -> None:
    rule = netfilter.masquerade("t", "uplink")[4][2]
    for part in (b"meta\0", b"cmp\0", b"masq\0", b"uplink".ljust(16, b"\0")):
        assert part in rule
    assert rule.index(b"meta\0") < rule.index(b"cmp\0") < rule.index(b"masq\0")
