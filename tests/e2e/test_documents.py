# SPDX-License-Identifier: Apache-2.0
"""Somebody with the users' documents in hand: their MPIJobs, unchanged, and no command but those that events name.

A fresh cluster of a machine without GPUs, of root and of an ordinary user, each with four jobs at once: nothing was
prepared for any of them.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

import pytest
from tests import documents
from tests.e2e import environments
from tests.e2e.jobs import Job
from tests.programs import clusters as embedded
from tests.programs import wheels
from tests.programs.world import Cluster

pytestmark = pytest.mark.timeout(600)

ELASTIC = "tensorflow-mnist-elastic"
NEEDS_GPUS = "benchmarks-mpi"
JOBS = {
    NEEDS_GPUS: "tensorflow-benchmarks",
    "tensorflow-benchmarks": "tensorflow-benchmarks",
    "tensorflow-mnist-hvd": "horovod",
    ELASTIC: "horovod",
}
"""Manifests, and the presets that stand in for their images. The one that is resized comes last: it trains as soon as
its preset is made, and not for ever."""
ENOUGH = 2
"""Commands that a job may take."""
_COMMAND = re.compile(r": (tide (?:env|node) .*)$")
_LOSS = re.compile(r"Step #(\d+)\tLoss: (\d+\.\d{6})")
_BENCHMARK_LOSS = re.compile(r"^\d+\timages/sec: [\d.]+\t(\d+\.\d{3})$", re.MULTILINE)


@dataclass
class Reader:
    """Who reads events, and does what they say."""

    cluster: Cluster
    done: list[str] = field(default_factory=list)

    def submit(self, file: str) -> Job:
        """In a namespace of its own: two of the documents call their job the same."""
        self.cluster.kubectl("create", "namespace", file)
        here = replace(self.cluster, kubectl=replace(self.cluster.kubectl, namespace=file))
        created = here.kubectl("create", "-f", str(documents.MANIFESTS / f"{file}.yaml"))
        return Job(here, created.split()[0].rpartition("/")[2], patience=240.0)

    def advice(self, job: Job) -> list[str]:
        """Commands in the events of a job and its pods, each once, with or without the full stop of a sentence."""
        events = job.cluster.get("events")["items"]
        found = [match[1] for event in events if (match := _COMMAND.search(str(event["message"])))]
        return list(dict.fromkeys(found))

    def follow(self, job: Job, commands: int) -> None:
        """Wait for so many, and run those that were not run yet."""

        def enough() -> bool:
            return len({command.rstrip(".") for command in self.advice(job)}) >= commands

        job.cluster.until(enough, f"advice for {job.name}")
        advice = self.advice(job)
        assert len({command.rstrip(".") for command in advice}) <= ENOUGH, advice
        for command in advice:
            if command not in self.done:
                self.run(command)

    def run(self, command: str) -> None:
        """To install packages takes long where pip does it, and others are busy."""
        with self.cluster.tide.start(*shlex.split(command)[1:]) as process:
            said = process.communicate(timeout=240)
        assert process.returncode == 0, said
        self.done.append(command)


@pytest.fixture
def readers() -> Iterator[dict[str, Reader]]:
    users = [embedded.OWN_USER] + ([embedded.ORDINARY_USER] if os.geteuid() == 0 else [])
    with ExitStack() as stack:
        public = stack.enter_context(embedded.public_folder())
        found = {user: Reader(stack.enter_context(embedded.running(public, user=user))) for user in users}
        for reader in found.values():
            environments.offer(reader.cluster, wheels.PRESETS)
        yield found


def test_the_documents_jobs_run_with_no_command_but_those_that_events_name(readers: dict[str, Reader]) -> None:
    with ThreadPoolExecutor() as pool:
        for ended in [pool.submit(tell, user, reader) for user, reader in readers.items()]:
            ended.result()


def tell(user: str, reader: Reader) -> None:
    """The story of one user."""
    jobs = {file: reader.submit(file) for file in JOBS}
    for job in jobs.values():
        until_it_waits_for_its_image(job)
    for file, job in jobs.items():
        reader.follow(job, commands=2 if file == NEEDS_GPUS else 1)
    resize_while_it_trains(jobs[ELASTIC])
    for file, job in jobs.items():
        job.until("Succeeded")
        check_log(file, job)
    made = [line.split()[0] for line in reader.cluster.tide.ok("env", "list").splitlines()[1:] if line]
    assert set(JOBS.values()) < set(made), user


def until_it_waits_for_its_image(job: Job) -> None:
    """As one that cannot be pulled: nothing has failed."""
    pods = f"springtide.dev/job={job.name}"

    def waiting() -> bool:
        found = [
            str((each.get("state") or {}).get("waiting", {}).get("reason"))
            for pod in job.cluster.pods(pods).values()
            for field in ("containerStatuses", "initContainerStatuses")
            for each in pod["status"].get(field, ())
        ]
        return "ImagePullBackOff" in found or "ErrImagePull" in found

    job.cluster.until(waiting, f"{job.name} waits for its image")
    assert "Failed" not in job.conditions(), job.picture()


def resize_while_it_trains(job: Job) -> None:
    job.cluster.until(lambda: size(job) == 2, "training with 2 workers", job.patience)
    job.resize(3)
    job.cluster.until(lambda: size(job) == 3, "training with 3 workers", job.patience)
    assert not {"Succeeded", "Failed"} & set(job.conditions()), job.picture()


def size(job: Job) -> int:
    """Of the ranks that train together, as the launcher said last."""
    launcher = job.launcher()
    said = job.cluster.kubectl.run("logs", launcher).stdout if launcher else ""
    lines = [line for line in said.splitlines() if line.startswith('{"springtide":"progress"')]
    return int(json.loads(lines[-1])["size"]) if lines else 0


def check_log(file: str, job: Job) -> None:
    log = job.logs()
    first = next(line for line in log.splitlines() if "stand-in" in line)
    assert "a stand-in that comes with Springtide" in first
    for rank in range(2):
        assert f"rank {rank} of 2 on {job.name}-worker-{rank}" in log
    if "benchmarks" in file:
        assert "Model:       resnet101" in log
        assert re.search(r"^Total images/sec: \d+\.\d\d$", log, re.MULTILINE)
        losses = [float(loss) for loss in _BENCHMARK_LOSS.findall(log)]
        assert len(losses) == 11, log
        assert losses[-1] < losses[0] / 2, log
        return
    losses = [float(loss) for _, loss in _LOSS.findall(log)]
    assert losses[-1] < losses[0] / 4, log
    if file == ELASTIC:
        assert f"rank 2 of 3 on {job.name}-worker-2" in log
        steps = [int(step) for step in re.findall(r"^\[0\]<stdout>:Step #(\d+)\t", log, re.MULTILINE)]
        assert steps == list(range(10, 700, 10))
