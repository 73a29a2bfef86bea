# SPDX-License-Identifier: Apache-2.0
"""Commands that are typed often must not import what takes long. Times are not asserted; imports are."""

from __future__ import annotations

import subprocess
import sys

import pytest

SLOW = ("aiohttp", "cryptography", "kubernetes_asyncio", "springtide.local.cluster")
ENGINE = (
    "springtide.jobs",
    "springtide.controllers",
    "springtide.api.kinds",
    "springtide.kube.informer",
    "prometheus_client",
)


def imported_by(*args: str, home: str) -> set[str]:
    script = (
        "import sys, atexit; atexit.register(lambda: print(*sys.modules)); from springtide.cli.app import main; main()"
    )
    environment = {"HOME": home, "KUBECONFIG": ""}
    finished = subprocess.run(
        [sys.executable, "-c", script, *args], capture_output=True, text=True, env=environment, timeout=30
    )
    assert not finished.stderr
    return set(finished.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    ("command", "unwanted"),
    [
        (["version"], (*SLOW, "asyncio", "yaml", "springtide.local.datadir")),
        (["--help"], (*SLOW, "asyncio", "yaml", "springtide.local.datadir")),
        (["status"], (*SLOW, "asyncio", "yaml")),
        (["down"], (*SLOW, "asyncio", "yaml")),
        (["up", "--help"], SLOW),
        (["kubeconfig", "--help"], SLOW),
        (["doctor"], SLOW),
        (["node", "--help"], SLOW),
        (["operator", "--help"], (*SLOW, "asyncio", "yaml")),
        (["list", "--help"], (*SLOW, *ENGINE)),
        (["get", "--help"], (*SLOW, *ENGINE)),
        (["top", "node", "--help"], (*SLOW, *ENGINE)),
        (["run", "--help"], (*SLOW, "springtide.local.environments.shelf")),
        (["scale", "--help"], SLOW),
        (["submit", "--help"], SLOW),
    ],
    ids=" ".join,
)
def test_quick_commands_import_little(command: list[str], unwanted: tuple[str, ...], tmp_path: str) -> None:
    assert not imported_by(*command, home=str(tmp_path)) & set(unwanted)
