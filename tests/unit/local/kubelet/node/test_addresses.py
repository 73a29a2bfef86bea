# SPDX-License-Identifier: Apache-2.0
"""Who gets which address."""

from __future__ import annotations

from ipaddress import IPv4Network

import pytest

from springtide.local.kubelet.node.addresses import Addresses, NoAddressLeft, range_of


def test_pods_get_the_nodes_addresses_from_the_second_on() -> None:
    book = Addresses(range_of(3, "namespaces"))
    assert [book.take("a"), book.take("b"), book.take("a")] == ["10.244.3.2", "10.244.3.3", "10.244.3.2"]


def test_without_namespaces_they_are_loopback_addresses() -> None:
    assert Addresses(range_of(1, "none")).take("a") == "127.1.0.2"


def test_what_directories_say_is_kept_and_not_given_twice() -> None:
    book = Addresses(range_of(1, "namespaces"))
    book.keep("old", "10.244.1.2")
    assert book.take("new") == "10.244.1.3"
    assert book.take("old") == "10.244.1.2"


def test_an_address_outside_the_range_or_of_another_pod_is_not_kept() -> None:
    book = Addresses(range_of(1, "namespaces"))
    book.keep("moved", "10.244.9.9")
    book.keep("first", "10.244.1.5")
    book.keep("second", "10.244.1.5")
    assert book.take("moved").startswith("10.244.1.")
    assert book.take("second") != "10.244.1.5"


def test_an_address_given_back_is_the_last_to_be_used_again() -> None:
    book = Addresses(IPv4Network("10.0.0.0/29"))
    for uid in "abc":
        book.take(uid)
    book.release("a")
    assert [book.take(uid) for uid in "def"] == ["10.0.0.5", "10.0.0.6", "10.0.0.2"]


def test_a_full_range_says_so() -> None:
    book = Addresses(IPv4Network("10.0.0.0/30"))
    book.take("a")
    with pytest.raises(NoAddressLeft, match=r"all 1 addresses of 10\.0\.0\.0/30 are taken"):
        book.take("b")


def test_releasing_what_nobody_has_is_nothing() -> None:
    Addresses(range_of(1, "namespaces")).release("nobody")


def test_clusters_that_share_a_range_begin_at_different_addresses() -> None:
    own = [Addresses(range_of(1, "none"), f"/home/ann/{name}").take("uid") for name in "ab"]
    assert len(set(own)) == 2
    assert all(address.startswith("127.1.") for address in own)
    assert Addresses(range_of(1, "none"), "/home/ann/a").take("uid") == own[0]
