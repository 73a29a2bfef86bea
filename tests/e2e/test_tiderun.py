# SPDX-License-Identifier: Apache-2.0
"""`tiderun` in jobs of both versions: through kubexec and over ssh, resized while it trains."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path

import pytest
from tests.e2e.jobs import V1, V2, Job, mpijob, submitted
from tests.programs.world import Cluster, Obj

pytestmark = pytest.mark.timeout(300)

PROGRAM = (Path(__file__).parents[1] / "integration" / "elastic" / "averages.py").read_text()
OPTIONS = ["-np", "2", "--min-np", "1", "--max-np", "4", "--host-discovery-script", "/etc/mpi/discover_hosts.sh"]
DRAIN = {V1: "600", V2: "1"}
"""Nobody would wait for ten minutes: that drain ends because the launcher writes on its pod that it has left. One of
v2beta1 has no right to."""


def progress(job: Job) -> Obj:
    """What was said last."""
    said = job.cluster.kubectl.run("logs", job.launcher()).stdout.splitlines() if job.launcher() else []
    lines = [line for line in said if line.startswith('{"springtide":"progress"')]
    found: Obj = json.loads(lines[-1]) if lines else {}
    return found


def until_size(job: Job, size: int) -> None:
    def reached() -> bool:
        assert not {"Failed", "Succeeded"} & set(job.conditions()), job.picture()
        found = progress(job)
        hosts = sorted(host.partition(".")[0] for host in found.get("hosts", ()))
        return found.get("size") == size and hosts == job.workers() == sorted(job.pods("Worker"))

    job.cluster.until(reached, f"{size} ranks train, on {size} workers", job.patience)


def test_a_job_that_was_made_smaller_than_it_began_starts_again(space: Cluster) -> None:
    """Created so, and once more after its launcher is gone."""
    job = submitted(
        space, mpijob("tide", ["tiderun", *OPTIONS, "python", "-c", PROGRAM, "3000"], image="any", workers=1)
    )
    until_size(job, 1)
    first = job.pods("Launcher")[job.launcher()]["metadata"]["uid"]
    space.kubectl("delete", "pod", job.launcher())
    space.until(lambda: job.launcher() and job.pods("Launcher")[job.launcher()]["metadata"]["uid"] != first, "another")
    until_size(job, 1)
    assert "CannotStart" not in job.conditions()


def no_secret_is_on_a_command_line() -> None:
    """Of the agents, and of what has started them."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            lines.append(path.read_bytes().decode(errors="replace"))
    agents = [line for line in lines if "springtide.elastic.agent" in line and "--connect" in line]
    assert agents
    assert not [line for line in agents if re.search(r"\b[0-9a-f]{32}\b", line)]


@pytest.mark.parametrize("version", [V1, V2])
def test_a_job_grows_and_shrinks_while_it_trains(space: Cluster, version: str) -> None:
    annotations = {"springtide.dev/drain-seconds": DRAIN[version]}
    command = ["tiderun", *OPTIONS, "python", "-c", PROGRAM, "3000"]
    job = submitted(space, mpijob("tide", command, version=version, image="any", annotations=annotations))
    until_size(job, 2)
    job.resize(3)
    until_size(job, 3)
    no_secret_is_on_a_command_line()
    job.resize(1)
    until_size(job, 1)
    job.until("Succeeded")
    assert "[0]<stdout>:rank 0 of 1: 3000 steps, 3000" in job.logs()
    assert "tiderun: " not in job.logs()
