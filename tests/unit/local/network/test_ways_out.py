# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import ipaddress
from pathlib import Path

import pytest

from springtide.local.network import dialing
from springtide.local.network.kernel import cabling, uplinks
from springtide.local.network.kernel.nat import Place
from springtide.local.network.kernel.outside import last_words
from springtide.local.network.names.resolver import nameservers


def test_an_ordinary_user_has_two_tools_and_root_one() -> None:
    assert list(uplinks.commands(7, own_user=True)) == ["pasta", "slirp4netns"]
    assert list(uplinks.commands(7, own_user=False)) == ["slirp4netns"]


def test_tools_get_into_the_holders_namespaces_and_open_no_ports() -> None:
    pasta = uplinks.commands(7, own_user=True)["pasta"]
    assert pasta[-4:] == ["--userns", "/proc/7/ns/user", "--netns", "/proc/7/ns/net"]
    assert all(pasta[pasta.index(option) + 1] == "none" for option in ("-t", "-u", "-T", "-U"))
    slirp = uplinks.commands(7, own_user=True)["slirp4netns"]
    assert "--userns-path=/proc/7/ns/user" in slirp
    assert "--disable-host-loopback" in slirp
    assert slirp[-2:] == ["/proc/7/ns/net", uplinks.LINK]


@pytest.mark.parametrize("cluster", ["/data", "/home/somebody/.local/share/springtide", ""])
def test_the_cable_to_the_host_has_a_short_name_and_two_addresses_of_one_small_network(cluster: str) -> None:
    place = Place(cluster)
    assert len(place.link) < 16
    network = ipaddress.IPv4Network(f"{place.host}/30", strict=False)
    assert ipaddress.IPv4Address(place.inside) in network
    assert network.subnet_of(ipaddress.IPv4Network("169.254.0.0/16"))
    assert {place.host, place.inside} == {str(host) for host in network.hosts()}


def test_two_clusters_do_not_meet() -> None:
    assert Place("/a").table != Place("/b").table


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("one\ntwo\n\n", "two"),
        ("1794804930.6310: Couldn't open it\nFailed to send 51 bytes to syslog\n", "Couldn't open it"),
        ("open: no such file", "open: no such file"),
    ],
)
def test_last_words(text: str, expected: str) -> None:
    assert last_words(text) == expected


def test_nameservers_are_those_of_the_host(tmp_path: Path) -> None:
    settings = tmp_path / "resolv.conf"
    settings.write_text("# made by hand\nsearch lan\nnameserver 127.0.0.53\nnameserver fe80::1%eth0\nnameserver\n")
    assert nameservers(str(settings)) == ["127.0.0.53", "fe80::1"]


def test_without_settings_there_is_nobody_to_ask(tmp_path: Path) -> None:
    assert nameservers(str(tmp_path / "missing")) == []


@pytest.mark.parametrize(
    ("address", "inside"),
    [
        ("10.244.1.5", True),
        ("10.96.0.1", True),
        ("10.0.0.1", False),
        ("127.0.0.1", False),
        ("::1", False),
        ("x", False),
    ],
)
def test_addresses_inside(address: str, inside: bool) -> None:
    assert dialing.is_inside(address) is inside


def test_links_are_named_after_their_pods() -> None:
    assert cabling.port_name("10.244.254.254") == "pod254.254"
    assert cabling.hardware("10.244.1.2") == bytes.fromhex("0a580af40102")
