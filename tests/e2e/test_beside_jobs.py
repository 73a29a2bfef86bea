# SPDX-License-Identifier: Apache-2.0
"""What a submitted job brings along: the container that fetches its code, and TensorBoard, which reads its logs.

TensorBoard is the preset's, from wheels that are fetched once.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest
from tests.e2e import environments
from tests.e2e.conftest import Start, a_namespace
from tests.integration.runtime import ordinary
from tests.programs import clusters as embedded
from tests.programs import wheels
from tests.programs.world import Cluster, Obj

from springtide.manifests import rendering, role_ports
from springtide.manifests.bookkeeping import owner_reference
from springtide.manifests.submission import CodeSync, HostDirectory, PyTorchJob, Submission, TfJob, User

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


WRITES: Final = f"""\
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary

writer = EventFileWriter("{LOGS}/run")
writer.add_event(Event(step=1, summary=Summary(value=[Summary.Value(tag="loss", simple_value=0.5)])))
writer.close()
"""
"""Its image is TensorBoard's."""
SUBMIT: Final = (
    *("submit", "pytorchjob", "--name=shown", "--workers=1"),
    *("--image=tensorboard", "--tensorboard", f"--logdir={LOGS}"),
    f"python -c {shlex.quote(WRITES)} && sleep 600",
)


@pytest.fixture
def viewed(cluster: Cluster) -> Cluster:
    """With TensorBoard."""
    if cluster.tide.run("env", "show", "tensorboard").returncode:
        environments.offer(cluster, wheels.TENSORBOARD)
        made = cluster.tide.run("env", "create", "--preset", "tensorboard")
        assert made.returncode == 0, made
    return cluster


def run(cluster: Cluster, *words: str) -> str:
    """`tide` in the namespace of the test, which the command's name does not tell."""
    done = cluster.tide.run(*words, f"--namespace={cluster.kubectl.namespace}")
    assert done.returncode == 0, f"{done}\n{cluster.picture()}"
    return done.stdout


def submitted(cluster: Cluster) -> str:
    """The address."""
    *words, command = SUBMIT
    said = run(cluster, *words, command)
    return found_in(said)


def found_in(said: str) -> str:
    (address,) = re.findall(r"http://127\.0\.0\.1:\d+", said)
    return str(address)


def page(address: str) -> str:
    """Empty if there is none."""
    try:
        with urllib.request.urlopen(address, timeout=30) as answer:
            return str(answer.read().decode())
    except (urllib.error.URLError, ConnectionError, http.client.HTTPException):
        return ""


def forwarders(cluster: Cluster) -> list[int]:
    """Processes that forward to TensorBoards of the test's namespace."""
    option = f"--namespace={cluster.kubectl.namespace}"
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = path.read_bytes().decode(errors="replace").split("\0")
            if "--report-to" in words and option in words:
                found.append(int(path.parent.name))
    return found


def test_a_submitted_jobs_tensorboard_is_shown_until_the_job_is_deleted(viewed: Cluster) -> None:
    address = submitted(viewed)
    assert "<title>TensorBoard</title>" in page(address)
    viewed.until(lambda: json.loads(page(f"{address}/data/runs") or "[]") == ["run"], "the job's run")
    assert f"TensorBoard: {address}" in run(viewed, "get", "shown")
    assert json.loads(run(viewed, "get", "shown", "-o", "json"))["tensorboard"] == address
    assert found_in(run(viewed, "tensorboard", "shown", "-d")) == address
    (forwarder,) = forwarders(viewed)
    assert os.getsid(forwarder) == forwarder  # of no terminal
    viewed.kubectl("delete", "pytorchjob", "shown")
    viewed.until(lambda: not forwarders(viewed), "nothing forwards")
    assert not page(address)
    kinds = ("deployment", "service", "persistentvolumeclaim", "pod")
    viewed.until(lambda: not any(viewed.get(kind)["items"] for kind in kinds), "nothing of the job left")


def test_tensorboard_is_shown_again_after_its_pod_or_the_process_was_killed(viewed: Cluster) -> None:
    address = submitted(viewed)
    viewed.kubectl("delete", "pod", "-l", "release=shown,role=tensorboard", "--grace-period=0", "--force")
    viewed.until(lambda: "TensorBoard" in page(address), "TensorBoard's page, of another pod")
    for process in forwarders(viewed):
        os.kill(process, signal.SIGKILL)
    viewed.until(lambda: not forwarders(viewed), "nothing forwards")
    assert "see it with: tide tensorboard shown" in run(viewed, "get", "shown")
    again = found_in(run(viewed, "tensorboard", "shown", "-d"))
    assert "TensorBoard" in page(again)
    assert f"TensorBoard: {again}" in run(viewed, "get", "shown")
    viewed.kubectl("delete", "pytorchjob", "shown")
    viewed.until(lambda: not forwarders(viewed), "nothing forwards")


def test_arena_shows_tensorboard_too(viewed: Cluster, user: str) -> None:
    as_user = [sys.executable, ordinary.__file__] if user == embedded.ORDINARY_USER else []
    program = [*as_user, str(Path(sys.executable).with_name("arena")), "-n", viewed.kubectl.namespace]

    def arena(*words: str) -> str:
        tide, command = viewed.tide, [*program, *words]
        done = subprocess.run(
            command, env=tide.environment, cwd=tide.home, capture_output=True, text=True, timeout=90, check=True
        )
        return done.stdout

    address = found_in(arena(*SUBMIT))
    assert "<title>TensorBoard</title>" in page(address)
    assert arena("get", "shown").endswith(f"Tensorboard:\n  Your tensorboard will be available on: \n  {address}\n")
    arena("delete", "shown")
    viewed.until(lambda: not forwarders(viewed), "nothing forwards")


def test_an_image_that_is_missing_is_said_and_tensorboard_comes_by_itself_later(viewed: Cluster) -> None:
    *words, command = SUBMIT
    said = viewed.tide.run(*words, "--tensorboard-image=later", f"-n={viewed.kubectl.namespace}", command)
    assert "TensorBoard waits: " in said.stderr, said
    assert not page(found_in(said.stdout))
    assert viewed.tide.run("env", "create", "later", "--pip", "tensorboard", "--image", "later").returncode == 0
    viewed.until(lambda: "<title>TensorBoard</title>" in page(found_in(said.stdout)), "TensorBoard")
    viewed.kubectl("delete", "pytorchjob", "shown")
    viewed.until(lambda: not forwarders(viewed), "nothing forwards")
