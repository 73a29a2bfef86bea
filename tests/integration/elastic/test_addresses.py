# SPDX-License-Identifier: Apache-2.0
"""Which hosts are this machine."""

from __future__ import annotations

import socket

import pytest

from springtide.elastic.shared import addresses


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.0.0.7", socket.gethostname()])
def test_this_machine(host: str) -> None:
    assert addresses.is_own(host)


@pytest.mark.parametrize("host", ["no-such-host.invalid", "192.0.2.1", "a..b", "x" * 300])
def test_other_machines(host: str) -> None:
    assert not addresses.is_own(host)


def test_what_leads_here_from_elsewhere_comes_first() -> None:
    assert addresses.own()[-1].startswith("127.") or addresses.own()[-1] == "::1"
    assert addresses.own(["lo"]) == [each for each in addresses.own(["lo"]) if each in ("127.0.0.1", "::1")]


def test_interfaces_that_are_not_there() -> None:
    assert addresses.unknown(["lo", "nonsense0"]) == ["nonsense0"]
