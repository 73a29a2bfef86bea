# SPDX-License-Identifier: Apache-2.0
"""A cluster with a training job, started from an earlier commit, is taken over by this one.

Pods, their shims and netd belong to the earlier commit and go on running; the supervisor's children, or all processes
of the cluster with the supervisor, start again from this commit. SPRINGTIDE_BEFORE names the earlier commit.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.request import Scope
from springtide.kube.resources import CONFIGMAPS, PODS, Key, Obj, Resource
from springtide.local.datadir import DataDir

ROOT = Path(__file__).parents[2]
BEFORE = os.environ.get("SPRINGTIDE_BEFORE", "")
MPIJOBS = Resource("kubeflow.org", "v1", "mpijobs", "MPIJob")
KINDS = {each.kind: each for each in (CONFIGMAPS, MPIJOBS)}
JOB = Key("default", "digits")
PATIENCE = 120.0
pytestmark = pytest.mark.skipif(not BEFORE, reason="SPRINGTIDE_BEFORE does not name an earlier commit")


@pytest.fixture(autouse=True, scope="module")
def _earlier_commit() -> None:
    """Fails where the named commit is missing, for instance in a shallow clone: a skipped suite would look passed."""
    found = subprocess.run(["git", "cat-file", "-e", f"{BEFORE}^{{commit}}"], cwd=ROOT, capture_output=True, text=True)
    if found.returncode != 0:
        pytest.fail(
            f"SPRINGTIDE_BEFORE={BEFORE} is not a commit of this checkout: {found.stderr.strip()}. "
            "Name one with make test-takeover BEFORE=COMMIT, or fetch the history: git fetch --unshallow",
            pytrace=False,
        )


class Cluster:
    """`tide` as the packages below `tree` have it; the tree may be exchanged while the cluster runs."""

    def __init__(self, scratch: Path) -> None:
        self.place = DataDir(scratch / "cluster")
        self._tree = scratch / "tree"
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(scratch),
            "XDG_DATA_HOME": str(scratch / "data"),
            "PYTHONPATH": str(self._tree / "src"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def put(self, commit: str) -> None:
        """The packages of a commit, or with "" those of the working tree, in place of what is there."""
        shutil.rmtree(self._tree, ignore_errors=True)
        self._tree.mkdir()
        if commit:
            archive = subprocess.run(["git", "archive", commit, "src"], cwd=ROOT, capture_output=True, check=True)
            subprocess.run(["tar", "-x", "-C", self._tree], input=archive.stdout, check=True)
        else:
            shutil.copytree(ROOT / "src", self._tree / "src", ignore=shutil.ignore_patterns("__pycache__"))

    def tide(self, *words: str) -> str:
        options = [] if words[0] == "env" else ["--data-dir", str(self.place.path)]
        argv = [sys.executable, "-m", "springtide.cli", *words, *options]
        ended = subprocess.run(
            argv, env=self._environment, cwd=self.place.path.parent, capture_output=True, text=True, timeout=PATIENCE
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout

    def up(self, *words: str) -> None:
        self.tide("up", "-d", "--port", "0", *words)

    def children(self) -> dict[int, str]:
        """Command lines of the processes that start again: server, operator and node agents."""
        names = ("springtide.local.supervisor.server", "springtide.local.kubelet", "operator")
        return {pid: words for pid, words in self._processes().items() if any(f" {name} " in words for name in names)}

    def supervisor(self) -> int:
        return next(pid for pid, words in self._processes().items() if " up " in words)

    def _processes(self) -> dict[int, str]:
        found = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal():
                try:
                    words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                except (FileNotFoundError, ProcessLookupError):
                    continue
                if str(self.place.path.parent) in words and "springtide" in words:
                    found[int(entry.name)] = words
        return found

    def kept(self) -> dict[str, int]:
        """Processes that outlive the others: netd and the shim of each pod."""
        files = [self.place.network / "holder.json", *self.place.pods.glob("*/shim.json")]
        return {
            str(each.relative_to(self.place.path)): json.loads(each.read_text())["pid"]
            for each in files
            if each.exists()
        }


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110 - other processes
            await asyncio.sleep(0.2)


async def eventually(cluster: Cluster, resource: Resource, key: Key, holds: Callable[[Obj], bool]) -> Obj:
    """The object once it is as wanted. The server may be away meanwhile."""
    found: Obj = {}
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    async with await Client.connect(str(cluster.place.path / "kubeconfig")) as client:
                        found = await client.get(resource, key)
                        if holds(found):
                            return found
                except (errors.Unreachable, errors.ServerError):
                    pass
                await asyncio.sleep(0.3)
    except TimeoutError:
        raise AssertionError(f"not as wanted: {json.dumps(found.get('status'), indent=1)}") from None


def trained(job: Obj) -> int:
    return int((job.get("status", {}).get("progress") or {}).get("step") or 0)


def runs(job: Obj, size: int) -> bool:
    status = job.get("status", {})
    return status.get("state") == "Running" and status.get("workers") == f"{size}/{size}" and trained(job) > 0


def exchanged_while_it_runs(cluster: Cluster) -> None:
    cluster.put("")
    for pid in cluster.children():
        os.kill(pid, signal.SIGKILL)


def killed_and_started_again(cluster: Cluster) -> None:
    dying = [cluster.supervisor(), *cluster.children()]
    for pid in dying:
        os.kill(pid, signal.SIGKILL)
    cluster.put("")
    cluster.up()


@pytest.mark.parametrize("taken_over", [exchanged_while_it_runs, killed_and_started_again])
async def test_a_job_goes_on_and_is_resized(tmp_path: Path, taken_over: Callable[[Cluster], None]) -> None:
    cluster = Cluster(tmp_path)
    cluster.put(BEFORE)
    files = f"{ROOT / 'examples' / 'elastic'}:/examples"
    cluster.tide("env", "create", "digits", "--image", "example/digits:*", "--files", files)
    cluster.up("--node", "node-a=cpu:8,memory:8Gi")
    try:
        async with await Client.connect(str(cluster.place.path / "kubeconfig")) as client:
            for each in yaml.safe_load_all((ROOT / "examples" / "elastic" / "digits.yaml").read_text()):
                each["metadata"]["namespace"] = JOB.namespace
                if each["kind"] == "ConfigMap":
                    each["data"]["pause"] = "0.01"  # the job lasts until it is 0
                await client.create(KINDS[each["kind"]], each)
        job = await eventually(cluster, MPIJOBS, JOB, lambda found: runs(found, 2))
        before, kept, old = trained(job), cluster.kept(), cluster.children()
        assert len(kept) == 4  # netd, two workers, the launcher

        await asyncio.to_thread(taken_over, cluster)
        await until(lambda: len(cluster.children()) == 3 and not cluster.children().keys() & old)
        await eventually(cluster, MPIJOBS, JOB, lambda found: runs(found, 2) and trained(found) > before)
        assert cluster.kept() == kept

        async with await Client.connect(str(cluster.place.path / "kubeconfig")) as client:
            await client.patch(MPIJOBS, JOB, {"spec": {"replicas": 3}}, subresource="scale")
        await eventually(cluster, MPIJOBS, JOB, lambda found: runs(found, 3))
        now = cluster.kept()
        assert {name: now[name] for name in kept} == kept
        async with await Client.connect(str(cluster.place.path / "kubeconfig")) as client:
            await client.patch(MPIJOBS, JOB, {"spec": {"replicas": 1}}, subresource="scale")
        await eventually(cluster, MPIJOBS, JOB, lambda found: runs(found, 1))
        async with await Client.connect(str(cluster.place.path / "kubeconfig")) as client:
            await client.patch(CONFIGMAPS, JOB, {"data": {"pause": "0"}})
        await eventually(cluster, MPIJOBS, JOB, lambda found: found["status"].get("state") == "Succeeded")
        async with await Client.connect(str(cluster.place.path / "kubeconfig")) as client:
            listing = await client.list(PODS, Scope(JOB.namespace))
            restarts = [
                status["restartCount"]
                for pod in listing.items
                for status in pod["status"].get("containerStatuses") or ()
            ]
        assert not any(restarts)
    finally:
        cluster.tide("down", "--grace", "0")
    assert not re.search("Traceback", "".join(log.read_text() for log in cluster.place.path.glob("*.log")))
