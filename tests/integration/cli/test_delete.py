# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from tests import terminal
from tests.integration.cli.conftest import Tide
from tests.integration.supervisor.conftest import until

from springtide.cli import app
from springtide.kube.client import Client
from springtide.kube.resources import PODS
from springtide.local.supervisor import leftovers


def contexts(file: Path) -> list[str]:
    return [each["name"] for each in yaml.safe_load(file.read_text())["contexts"]]


async def run_pod(kubeconfig: Path, command: list[str]) -> None:
    spec: dict[str, Any] = {"containers": [{"name": "c", "image": "x", "command": command}]}
    async with await Client.connect(str(kubeconfig)) as client:
        pod = {"metadata": {"name": "p", "namespace": "default"}, "spec": spec}
        await client.create(PODS, {"apiVersion": "v1", "kind": "Pod", **pod})


def test_a_stopped_cluster_goes_with_its_files_and_its_context(tide: Tide) -> None:
    tide.ok("up", "-d", "--port", "0", "--no-nodes")
    own = tide.place().kubeconfig
    tide.ok("kubeconfig", "--merge")
    merged = tide.home / ".kube/config"
    assert contexts(merged) == ["springtide"]
    tide.ok("up", "-d", "--port", "0", "--no-nodes", "--name", "second")
    tide.ok("kubeconfig", "--merge", "--name", "second")
    tide.ok("down")

    refused = tide.error("delete", "--cluster")
    assert "needs a confirmation" in refused
    assert "tide delete --cluster --yes" in refused
    tide.environment["KUBECONFIG"] = str(own)
    assert tide.ok("delete", "--cluster", "--yes").splitlines() == [
        f"Removed its context from {merged}.",
        "Deleted cluster 'springtide'.",
        "KUBECONFIG still names its kubeconfig: unset KUBECONFIG",
    ]
    assert not tide.place().path.exists()
    assert contexts(merged) == ["second"]
    assert yaml.safe_load(merged.read_text())["current-context"] == "second"
    assert "nothing was deleted" in tide.ok("delete", "--cluster", "--yes")
    assert "Cluster 'second' is up" in tide.ok("status", "--name", "second")


def test_a_cluster_that_is_up_is_only_deleted_by_force(tide: Tide) -> None:
    tide.ok("up", "-d", "--port", "0")
    asyncio.run(run_pod(tide.place().kubeconfig, ["sleep", "1000"]))
    until(lambda: leftovers.living(tide.place()) == 1)
    refused = tide.error("delete", "--cluster", "--yes")
    assert refused.splitlines()[:2] == ["Error: cluster 'springtide' is up", "Stop it first: tide down"]
    tide.ok("delete", "--cluster", "--yes", "--force")
    assert not tide.place().path.exists()


def test_pods_that_ran_on_are_ended(tide: Tide, tmp_path: Path) -> None:
    tide.ok("up", "-d", "--port", "0")
    asyncio.run(run_pod(tide.place().kubeconfig, ["sh", "-c", "exec sleep 1234.5678"]))
    until(lambda: _sleeping() == 1)
    tide.ok("down", "--keep-pods")
    assert leftovers.living(tide.place()) == 1
    tide.ok("delete", "--cluster", "--yes")
    assert not tide.place().path.exists()
    until(lambda: _sleeping() == 0)


def _sleeping() -> int:
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(path.read_bytes())
        except OSError:
            continue
    return lines.count(b"sleep\x001234.5678\0")


def test_a_person_is_asked(tide: Tide) -> None:
    tide.ok("up", "-d", "--port", "0", "--no-nodes")
    tide.ok("down")
    with terminal.bash(tide.environment, tide.home) as shell:
        for answer, status in (("n", 1), ("", 1), ("y", 0)):
            begin = len(shell.shown)
            shell.type("tide delete --cluster; echo status=$?\n")
            shell.wait_for(r"objects, logs and volumes in .*\? \[y/N\]: ", begin)
            shell.type(f"{answer}\n")
            said = shell.wait_for(r"^status=\d", begin)
            assert f"status={status}" in said
            assert ("Deleted cluster" if status == 0 else "Nothing was deleted.") in said
    assert not tide.place().path.exists()


def test_a_half_deleted_cluster_is_not_started_but_deleted(tide: Tide) -> None:
    tide.ok("up", "-d", "--port", "0", "--no-nodes")
    tide.ok("down")
    tide.place().mark_deleting()
    tide.place().database.unlink()
    assert "is partly deleted" in tide.error("up", "-d")
    assert "finish it with: tide delete --cluster" in tide.run("status").stdout
    assert tide.ok("delete", "--cluster", "--yes") == "Deleted cluster 'springtide'.\n"
    tide.ok("up", "-d", "--port", "0", "--no-nodes")


def test_a_kubeconfig_that_cannot_be_changed_keeps_nothing_back(tide: Tide, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, data: bytes) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    tide.ok("up", "-d", "--port", "0", "--no-nodes")
    tide.ok("kubeconfig", "--merge")
    tide.ok("down")
    monkeypatch.setattr("springtide.local.access.kubeconfig.write_private", refuse)  # even root is refused
    monkeypatch.setenv("HOME", str(tide.home))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    said = CliRunner().invoke(app.tide, ["delete", "--cluster", "--yes"])
    assert said.exit_code == 0
    assert "which cannot be changed: Permission denied" in said.stderr
    assert "kubectl config delete-context springtide" in said.stderr
    assert not tide.place().path.exists()


def test_a_directory_of_something_else_is_left_alone(tide: Tide) -> None:
    place = tide.home / "project"
    (place / "bin").mkdir(parents=True)
    (place / "lock").touch()
    assert "is not the directory of a cluster; nothing was deleted." in tide.ok(
        "delete", "--cluster", "--yes", "--data-dir", "project"
    )
    tide.ok("up", "-d", "--port", "0", "--no-nodes", "--data-dir", "project")
    (place / "notes").touch()
    tide.ok("down", "--data-dir", "project")
    said = tide.ok("delete", "--cluster", "--yes", "--data-dir", "project")
    assert f"Left alone in {place}, because the cluster did not make it: notes\n" in said
    assert [path.name for path in place.iterdir()] == ["notes"]
