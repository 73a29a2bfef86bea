# SPDX-License-Identifier: Apache-2.0
"""Nothing needs root, and nobody gets into somebody else's cluster.

When root runs the tests (as in a container), `tide` is run as a user without any rights. Otherwise every other test
shows that none are needed.
"""

from __future__ import annotations

import os
import shutil
import ssl
import subprocess
import sys
import sysconfig
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.cli.conftest import Tide

NOBODY = 65534
SOURCES = Path(__file__).parents[3] / "src"

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


def usable_by_anybody() -> tuple[str, dict[str, str]] | None:
    """A Python that an ordinary user can run with our packages: root's own often lies in root's home."""
    environment = {"PYTHONPATH": f"{SOURCES}:{sysconfig.get_path('purelib')}", "PYTHONDONTWRITEBYTECODE": "1"}
    version = ".".join(map(str, sys.version_info[:2]))
    for python in (sys.executable, f"/usr/bin/python{version}", f"/usr/local/bin/python{version}"):
        command = [python, "-c", "import springtide.local.cluster"]
        try:
            subprocess.run(
                command, check=True, capture_output=True, env=environment, user=NOBODY, group=NOBODY, extra_groups=[]
            )
        except (OSError, subprocess.SubprocessError):
            continue
        return python, environment
    return None


@pytest.fixture(scope="module")
def python() -> tuple[str, dict[str, str]]:
    found = usable_by_anybody()
    if found is None:
        pytest.skip("no Python here that another user could run")
    return found


@pytest.fixture
def nobody(python: tuple[str, dict[str, str]]) -> Iterator[Tide]:
    """`tide` as run by a user without rights. Its home is not in pytest's folders, which only their owner enters."""
    program, environment = python
    home = Path(tempfile.mkdtemp(prefix="springtide-home-"))
    os.chown(home, NOBODY, NOBODY)
    tide = Tide(home, [program, "-m", "springtide.cli"], environment, NOBODY)
    yield tide
    tide.kill_all()
    shutil.rmtree(home)


@needs_root
def test_a_cluster_needs_no_rights(nobody: Tide) -> None:
    nobody.ok("up", "-d", "--port", "0")
    assert "4 namespaces" in nobody.ok("status")
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
    assert nobody.error(command, "--data-dir", str(place)) == f"Error: {place} belongs to another user\n"


@needs_root
@pytest.mark.parametrize("detach", [[], ["-d"]], ids=["foreground", "background"])
def test_a_directory_without_the_right_to_write_is_named(nobody: Tide, detach: list[str]) -> None:
    place = nobody.home / "read-only" / "cluster"
    place.parent.mkdir(mode=0o755)
    said = nobody.error("up", *detach, "--data-dir", str(place))
    assert said.startswith(f"Error: cannot write to {place}: Permission denied\n")
    assert (
        f"✗ cannot write to {place.parent}: Permission denied" in nobody.run("doctor", "--data-dir", str(place)).stdout
    )


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
