# SPDX-License-Identifier: Apache-2.0
"""Nothing needs root, and nobody gets into somebody else's cluster.

When root runs the tests (as in a container), `tide` is run as a user without any rights. Otherwise every other test
shows that none are needed.
"""

from __future__ import annotations

import os
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.cli.conftest import Tide
from tests.integration.cli.ordinary import NOBODY, nobody_s_home

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


@pytest.fixture
def nobody() -> Iterator[Tide]:
    with nobody_s_home() as tide:
        yield tide


@needs_root
def test_a_cluster_needs_no_rights(nobody: Tide) -> None:
    nobody.ok("up", "-d", "--port", "0")
    assert "6 namespaces" in nobody.ok("status")
    nobody.ok("kubeconfig", "--merge")
    assert nobody.place().kubeconfig.stat().st_uid == NOBODY
    nobody.ok("doctor")
    nobody.ok("down")


@needs_root
@pytest.mark.parametrize("command", ["status", "down", "kubeconfig", "up"])
def test_another_user_s_cluster_cannot_be_looked_at(tide: Tide, nobody: Tide, command: str) -> None:
    place = nobody.home / "of-root"
    place.mkdir(mode=0o700)
    (place / "lock").touch(mode=0o600)
    assert nobody.error(command, "--data-dir", str(place)).startswith(
        f"Error: {place} belongs to root, not to nobody\n"
    )


@needs_root
@pytest.mark.parametrize("detach", [[], ["-d"]], ids=["foreground", "background"])
def test_a_directory_without_the_right_to_write_is_named(nobody: Tide, detach: list[str]) -> None:
    place = nobody.home / "read-only" / "cluster"
    place.parent.mkdir(mode=0o755)
    said = nobody.error("up", *detach, "--data-dir", str(place))
    why = f"{place} cannot be made: nobody may not write to {place.parent}, which belongs to root"
    assert said.startswith(f"Error: {why}\n")
    assert f"✗ {why}\n" in nobody.run("doctor", "--data-dir", str(place)).stdout


@needs_root
def test_a_port_below_1024_is_explained(nobody: Tide) -> None:
    if int(Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text()) <= 443:
        pytest.skip("anybody may use low ports here")
    assert nobody.error("up", "--port", "443").startswith("Error: port 443 may only be used by root\n")


def test_whoever_has_no_credentials_gets_401(tide: Tide) -> None:
    tide.ok("up", "-d", "--port", "0")
    last = tide.place().last()
    assert last is not None
    context = ssl.create_default_context(cafile=str(tide.place().pki / "ca.pem"))
    url = f"https://127.0.0.1:{last.port}"
    with urllib.request.urlopen(f"{url}/readyz", context=context) as answer:
        assert answer.read() == b"ok"
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{url}/api/v1/namespaces", context=context)
    with refused.value:
        assert refused.value.code == 401
