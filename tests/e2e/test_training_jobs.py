# SPDX-License-Identifier: Apache-2.0
"""TrainingJobs as Arena renders them, resized by ScaleOut and ScaleIn while they train, with stock kubectl.

One GPU for each worker, on a node that only says it has some: eight, one less than the jobs' maximum.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from tests import arena
from tests.e2e import environments, training_jobs
from tests.e2e.conftest import a_namespace
from tests.e2e.training_jobs import TrainingJob, created, finish, steps, submitted
from tests.programs import clusters as embedded
from tests.programs import wheels
from tests.programs.world import Cluster

pytestmark = pytest.mark.timeout(300)

GPUS = 8
AWKWARD = {
    "QUOTES": """it's "here" and `there`""",
    "COMMANDS": "$(touch /shared/injected); $HOME && touch /shared/injected",
    "BLANKS": "  two  words\n and lines ",
    "EMPTY": "",
    "WORD": "值",
}
SCRIPT = """\
echo "$(date)" >> /shared/runs
printf '%s|' "$1" "$QUOTES" "$COMMANDS" "$BLANKS" "$EMPTY" "$SPRINGTIDE_SCALER_UID" > /shared/said
env > /shared/environment
echo the script has run
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    node = f"one=cpu:32,memory:64Gi,nvidia.com/gpu:{GPUS}"
    with embedded.public_folder() as public, embedded.running(public, "--node", node) as found:
        yield found


@pytest.fixture
def space(cluster: Cluster) -> Iterator[Cluster]:
    with a_namespace(cluster) as found:
        yield found


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    tmp_path.chmod(0o777)
    return tmp_path


# The document


def test_the_document_is_followed_with_three_workers_and_with_two(cluster: Cluster) -> None:
    """Its text says three, its transcript shows two. Both at once, under one name, in two namespaces: nothing that
    belongs to one is touched by the other."""
    environments.offer(cluster, wheels.PRESETS)
    made = cluster.tide.run("env", "create", "--for", arena.IMAGE)
    assert made.returncode == 0, made
    with a_namespace(cluster) as text, a_namespace(cluster) as transcript, ThreadPoolExecutor() as pool:
        for told in [pool.submit(tell, text, 3), pool.submit(tell, transcript, 2)]:
            told.result()


def tell(space: Cluster, workers: int) -> None:
    """The document's story, with one more worker at its end."""
    job = submitted(space, *training_jobs.document(workers))
    job = replace(job, patience=150.0)
    until_ranks(job, workers)
    scaleout = created(space, arena.scaleout())
    assert scaleout.object()["spec"]["timeout"] == 600
    scaleout.until("ScaleSucceeded")
    newcomer = f"{arena.NAME}-worker-{workers}"
    assert newcomer in job.workers()
    until_ranks(job, workers + 1)
    assert f"rank {workers} of {workers + 1} on {newcomer}, from step " in job.log()
    created(space, arena.scalein()).until("ScaleSucceeded")
    assert newcomer not in job.pods("Worker")
    until_ranks(job, workers)
    job.scale_out(1).until("ScaleSucceeded")
    assert f"{arena.NAME}-worker-{workers + 1}" in job.workers(), "a name is never used again"
    until_ranks(job, workers + 1)
    job.until("Succeeded")
    log = job.log()
    assert "lacklist" not in log
    said = [(int(rank), int(step)) for rank, step in re.findall(r"^\[(\d)\]<stdout>:Step #(\d+)\t", log, re.MULTILINE)]
    for rank in range(workers):
        assert [step for each, step in said if each == rank] == list(range(10, 700, 10)), log
    space.until(lambda: not job.pods("Worker"), "running workers cleaned up")
    assert job.pods("Launcher")


def until_ranks(job: TrainingJob, size: int) -> None:
    """So many ranks train, as the launcher said last, and each of them has said a step."""

    def trains() -> bool:
        assert "Failed" not in job.conditions(), job.picture()
        log = job.log()
        told = [json.loads(line) for line in log.splitlines() if line.startswith('{"springtide":"progress"')]
        return bool(told) and told[-1]["size"] == size and f"[{size - 1}]<stdout>:" in log

    job.cluster.until(trains, f"training with {size} ranks", job.patience)


# Attach modes, and launchers that are not root's


@pytest.mark.parametrize("user", [None, 1000], ids=["root", "another user"])
@pytest.mark.parametrize("attach", ["ssh", "kubexec"])
def test_a_job_grows_and_shrinks_while_it_trains(space: Cluster, shared: Path, attach: str, user: int | None) -> None:
    job = submitted(space, *steps(shared, user=user, launcherAttachMode=attach))
    job.until_size(2)
    job.scale_out(1).until("ScaleSucceeded")
    job.until_size(3)
    assert job.object()["spec"]["etReplicaSpecs"]["worker"]["replicas"] == 3
    job.scale_in(f"{job.name}-worker-0").until("ScaleSucceeded")
    assert f"{job.name}-worker-0" not in job.pods("Worker")
    job.until_size(2)
    assert job.object()["spec"]["etReplicaSpecs"]["worker"]["replicas"] == 2
    told = finish(job, shared)
    training_jobs.check(told)
    assert {step.host.partition(".")[0] for step in told} == {f"{job.name}-worker-{index}" for index in range(3)}


# Sizes


def test_a_scale_out_that_does_not_fit_is_rolled_back_and_the_next_one_works(space: Cluster, shared: Path) -> None:
    job = submitted(space, *steps(shared))
    job.until_size(2)
    before = set(job.pods("Worker"))
    said = job.scale_out(7, timeout=4).until("ScaleFailed")
    assert said == "6 of 7 ready within 4 s; elastic-training-worker-8: no node has nvidia.com/gpu free"
    space.until(lambda: set(job.pods("Worker")) == before, "what it added is gone")
    job.goes_on()
    job.scale_out(1).until("ScaleSucceeded")
    job.until_size(3)
    training_jobs.check(finish(job, shared))


def test_sizes_and_names_that_cannot_be_are_refused_in_a_sentence(space: Cluster, shared: Path) -> None:
    job = submitted(space, *steps(shared))
    job.until_size(2)
    for scaler, sentence in (
        (job.scale_in("elastic-training-worker-7"), "elastic-training-worker-7"),
        (job.scale_in(count=2), "1"),
        (job.scale_out(8), "9"),
    ):
        said = scaler.until("ScaleFailed")
        assert sentence in said
    job.goes_on()
    assert len(job.pods("Worker")) == 2


def test_a_scale_out_is_cancelled_by_its_deletion(space: Cluster, shared: Path) -> None:
    job = submitted(space, *steps(shared))
    job.until_size(2)
    scaler = job.scale_out(7)
    space.until(lambda: len(job.pods("Worker")) > 2, "its workers are being added")
    refused = space.kubectl.refused("scale", "trainingjob", job.name, "--replicas=3")
    assert scaler.name in refused
    scaler.delete()
    space.until(lambda: len(job.pods("Worker")) == 2, "what it added is gone")
    job.goes_on()
    space.kubectl("scale", "trainingjob", job.name, "--replicas=1")
    job.until_size(1)
    training_jobs.check(finish(job, shared))


def test_scalers_take_their_turns_also_those_that_were_there_before_their_job(space: Cluster, shared: Path) -> None:
    job = TrainingJob(space, arena.NAME)
    first, second = job.scale_out(1), job.scale_in(count=1)
    first.until("Created")
    submitted(space, *steps(shared))
    first.until("ScaleSucceeded")
    second.until("ScaleSucceeded")
    assert list(job.pods("Worker")) == ["elastic-training-worker-0", "elastic-training-worker-1"]
    training_jobs.check(finish(job, shared))


# Scripts


def test_a_script_gets_its_variables_as_they_are(space: Cluster, shared: Path) -> None:
    (shared / "grow.sh").write_text(SCRIPT)
    job = submitted(space, *steps(shared))
    job.until_size(2)
    env = [{"name": name, "value": value} for name, value in AWKWARD.items()]
    scaler = job.scale_out(1, script="/shared/grow.sh", env=env)
    scaler.until("ScaleSucceeded")
    job.until_size(3)
    assert "the script has run" in scaler.conditions()["ScriptExecuted"]
    uid = scaler.object()["metadata"]["uid"]
    values = [
        "elastic-training-worker-2:1",
        *[AWKWARD[each] for each in ("QUOTES", "COMMANDS", "BLANKS", "EMPTY")],
        uid,
    ]
    assert (shared / "said").read_text() == "".join(f"{value}|" for value in values)
    assert "WORD=值" in (shared / "environment").read_text()
    assert not (shared / "injected").exists()
    assert len((shared / "runs").read_text().splitlines()) == 1
    (shared / "fails.sh").write_text("echo once >> /shared/tries; echo it cannot; exit 3")
    said = job.scale_in(count=1, script="/shared/fails.sh", backoffLimit=1).until("ScaleFailed")
    assert "3" in said
    assert "it cannot" in said
    assert (shared / "tries").read_text() == "once\nonce\n"
    job.goes_on()
    training_jobs.check(finish(job, shared))


# Suspended


def test_a_job_is_suspended_and_resumed(space: Cluster, shared: Path) -> None:
    job = submitted(space, *steps(shared))
    job.until_size(2)
    annotation = "job-supervisor.kube-ai.io/job-suspended"
    space.kubectl("annotate", "trainingjob", job.name, f"{annotation}=true")
    job.until("Suspended")
    space.until(lambda: not job.pods("Worker") and not job.pods("Launcher"), "no pods")
    assert job.status["phase"] == "Suspended"
    space.kubectl("annotate", "trainingjob", job.name, f"{annotation}-")
    job.until("Running")
    job.until_size(2)
    job.scale_out(1).until("ScaleSucceeded")
    job.until_size(3)
    training_jobs.check(finish(job, shared))
