# SPDX-License-Identifier: Apache-2.0
"""What a submitted job brings along: the container that fetches its code, and TensorBoard, which reads its logs.

No package index is asked: in place of TensorBoard runs a program that waits.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from tests.e2e.conftest import Start, a_namespace
from tests.integration.runtime import ordinary
from tests.programs import clusters as embedded
from tests.programs.world import Cluster, Obj

from springtide.manifests import rendering, role_ports
from springtide.manifests.bookkeeping import owner_reference
from springtide.manifests.submission import CodeSync, HostDirectory, PyTorchJob, Submission, TensorBoard, TfJob, User

pytestmark = pytest.mark.timeout(300)
LOGS: Final = "/training_logs"
PROGRAM: Final = """\
touch /met/$(hostname)
until [ $(ls /met | wc -l) = $workers ]; do sleep 0.2; done
echo "trained on $(hostname)" | tee -a "${LOGS:-/dev/null}"
"""
"""A worker would wait for ever for a master that has ended, as PyTorch's would."""
COMMAND: Final = "cd code/train && sh train.sh"


@pytest.fixture
def cluster(clusters: Start, user: str) -> Iterator[Cluster]:
    with a_namespace(clusters(user)) as found:
        yield found


@pytest.fixture
def repository(user: str) -> Iterator[str]:
    """A directory that pods see: their /tmp is their own. Git reads only its owner's repositories."""
    folder = Path(tempfile.mkdtemp(prefix="springtide-code-", dir="/var/tmp"))
    (folder / "train.git").symlink_to(".git")
    (folder / "met").mkdir()
    (folder / "train.sh").write_text(PROGRAM)
    who = {f"GIT_{part}_{field}": "me@example.com" for part in ("AUTHOR", "COMMITTER") for field in ("NAME", "EMAIL")}
    for words in (["init", "-q"], ["add", "train.sh"], ["commit", "-qm", "code"]):
        subprocess.run(["git", *words], cwd=folder, env={**os.environ, **who}, check=True)
    if user == embedded.ORDINARY_USER:
        for each in (folder, *folder.rglob("*")):
            os.chown(each, ordinary.UID, ordinary.UID, follow_symlinks=False)
    yield f"file://{folder}"
    shutil.rmtree(folder)


def asked(cluster: Cluster, name: str, repository: str, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "namespace": str(cluster.kubectl.namespace),
        "command": COMMAND,
        "user": User(name="me", id="0" * 32),
        "image": "python:3",
        "workers": 2,
        "host_directories": (HostDirectory(host=f"{repository.removeprefix('file://')}/met", path="/met"),),
        "code_sync": CodeSync(mode="git", source=f"{repository}/train.git"),
        **more,
    }


def submit(cluster: Cluster, submission: Submission) -> None:
    objects = rendering.render(submission)
    for each in objects:
        if each["kind"] == "Deployment":
            each["spec"]["template"]["spec"]["containers"][0] |= {"image": "python:3", "command": ["sleep", "600"]}
        cluster.kubectl("create", "-f", "-", stdin=json.dumps(each))
    job = cluster.get(objects[-1]["kind"], submission.name)
    owned = json.dumps({"metadata": {"ownerReferences": [owner_reference(job)]}})
    for each in objects[:-1]:
        cluster.kubectl("patch", each["kind"], each["metadata"]["name"], "--type=merge", "-p", owned)


def succeeded(cluster: Cluster, kind: str, name: str) -> None:
    def conditions() -> set[str]:
        status: Obj = cluster.get(kind, name).get("status", {})
        return {each["type"] for each in status.get("conditions", ()) if each["status"] == "True"}

    cluster.until(lambda: "Succeeded" in conditions(), f"{kind} {name} succeeded")


@pytest.mark.parametrize("kind", [PyTorchJob, TfJob])
def test_every_pod_of_a_job_has_the_code_of_the_repository(
    cluster: Cluster, repository: str, kind: type[Submission]
) -> None:
    submission = kind(**asked(cluster, "code", repository, clean_policy="None"))
    if isinstance(submission, TfJob):
        submission = role_ports.chosen(submission, ())
    submit(cluster, submission)
    succeeded(cluster, kind.__name__.lower(), "code")
    pods = cluster.pods("release=code")
    assert len(pods) == 2
    for pod in pods:
        cluster.until_succeeded(pod)  # the first one's success ends the job, and lets the others finish
        assert f"trained on {pod}" in cluster.logs(pod)
        assert "git-sync: a stand-in" in cluster.kubectl("logs", pod, "-c", "init-code")


def test_tensorboard_reads_the_logs_of_the_job_and_is_deleted_with_it(cluster: Cluster, repository: str) -> None:
    more = {"tensorboard": TensorBoard(log_directory=LOGS), "variables": {"LOGS": f"{LOGS}/log"}, "workers": 1}
    submit(cluster, PyTorchJob(**asked(cluster, "shown", repository, **more)))
    succeeded(cluster, "pytorchjob", "shown")
    cluster.until_ready("release=shown,role=tensorboard", 1)
    read = cluster.kubectl("exec", "deploy/shown-tensorboard", "--", "cat", "/output/training_logs/log")
    assert read == "trained on shown-master-0\n"
    cluster.kubectl("delete", "pytorchjob", "shown")
    kinds = ("deployment", "service", "persistentvolumeclaim", "pod")
    cluster.until(lambda: not any(cluster.get(kind)["items"] for kind in kinds), "nothing of the job left")
