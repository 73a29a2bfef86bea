# SPDX-License-Identifier: Apache-2.0
"""Hosts and slots in all the forms people write them in, and what cannot be read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from springtide.elastic.launcher import hosts

names = st.from_regex(r"[a-z][a-z0-9-]{0,8}[a-z0-9]", fullmatch=True)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a:2,b:4", {"a": 2, "b": 4}),
        ("a", {"a": 1}),
        (" a:1 , b ", {"a": 1, "b": 1}),
        ("a:1,a:2", {"a": 3}),
        ("10.0.0.1:2,job-worker-0.job:1", {"10.0.0.1": 2, "job-worker-0.job": 1}),
    ],
)
def test_hosts_of_the_command_line(text: str, found: dict[str, int]) -> None:
    assert hosts.from_option(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a slots=2\nb slots=4\n", {"a": 2, "b": 4}),
        ("a:2\nb\n", {"a": 2, "b": 1}),
        ("# who\n\na slots = 2 # two\n  b   max_slots=8 slots=3\n", {"a": 2, "b": 3}),
        ("a\na\na\n", {"a": 3}),
    ],
)
def test_hosts_of_a_file(text: str, found: dict[str, int]) -> None:
    assert hosts.from_hostfile(text, "hostfile") == found


@pytest.mark.parametrize(
    ("text", "slots", "found"),
    [
        ("a:2\nb:1\n", None, {"a": 2, "b": 1}),
        ("a\nb:1\n", 4, {"a": 4, "b": 1}),
        ("a:2\na:2\n\n", None, {"a": 2}),
        ("a:0\n", None, {"a": 0}),
        ("", None, {}),
    ],
)
def test_hosts_of_a_script(text: str, slots: int | None, found: dict[str, int]) -> None:
    assert hosts.from_discovery(text, slots) == found


@given(st.dictionaries(names, st.integers(0, 64), max_size=6), st.randoms())
def test_order_and_repetition_of_lines_mean_nothing(listed: dict[str, int], chance: object) -> None:
    lines = [f"{host}:{slots}" for host, slots in listed.items()] * 2
    chance.shuffle(lines)  # type: ignore[attr-defined]
    assert hosts.from_discovery("\n".join(lines)) == listed


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a:b", "line 1: 'b' is no number of slots"),
        ("a:1\nb:1:1", "line 2: '1:1' is no number of slots"),
        ("a:-1", "line 1: '-1' is no number of slots"),
        ("a", "line 1: 'a' has no slots; print host:slots or give --slots-per-host"),
        ("-oProxyCommand=x:1", "line 1: '-oProxyCommand=x:1' does not begin with the name of a host"),
        (":1", "line 1: ':1' does not begin with the name of a host"),
    ],
)
def test_what_a_script_printed_that_cannot_be_read(text: str, complaint: str) -> None:
    with pytest.raises(hosts.HostsError) as raised:
        hosts.from_discovery(text)
    assert str(raised.value) == complaint


@pytest.mark.parametrize("text", ["", "a cpus=2", "a slots=x", "a b"])
def test_a_hostfile_that_cannot_be_read(text: str) -> None:
    with pytest.raises(hosts.HostsError, match=r"^hostfile"):
        hosts.from_hostfile(text, "hostfile")


def test_of_many_hosts_the_first_are_named() -> None:
    many = {f"h{number}": 1 for number in range(12)}
    assert hosts.described(many).endswith("h8:1, h9:1, and 2 more")
    assert hosts.described({"a": 2, "b": 1}) == "a:2, b:1"
