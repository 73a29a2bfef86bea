# SPDX-License-Identifier: Apache-2.0
"""DeepSpeed's own parser reads /job/hostfile of a TrainingJob, which stays current while the job is resized."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e import training_jobs
from tests.e2e.training_jobs import TrainingJob
from tests.e2e_elastic import environments
from tests.programs.world import Cluster

pytestmark = pytest.mark.timeout(400)

PARSE = """\
import json, sys
from deepspeed.launcher.runner import fetch_hostfile
print(json.dumps(fetch_hostfile(sys.argv[1])))
"""


def parsed(job: TrainingJob, copy: Path) -> dict[str, int]:
    """Slots by host."""
    copy.write_text(job.cluster.kubectl("exec", job.launcher(), "-c", "et", "--", "cat", "/job/hostfile"))
    path = os.pathsep.join(
        str(environments.packages(environments.made(kit))) for kit in (environments.DEEPSPEED, environments.TORCH)
    )
    python = environments.python(environments.TORCH)
    command = [str(python), "-c", PARSE, str(copy)]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    found: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_deepspeed_reads_the_hosts_of_a_job_before_and_after_it_is_resized(
    space: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster, copy = space(), tmp_path / "hostfile"
    cluster.tide.run("node", "add", "gpus=nvidia.com/gpu:9")
    job = training_jobs.submitted(cluster, *training_jobs.steps(tmp_path))
    workers = [f"{job.name}-worker-{index}" for index in range(4)]
    job.until_size(2)
    assert parsed(job, copy) == dict.fromkeys(workers[:2], 1)
    job.scale_out(2).until("ScaleSucceeded")
    assert parsed(job, copy) == dict.fromkeys(workers, 1)
    job.scale_in(workers[1]).until("ScaleSucceeded")
    assert parsed(job, copy) == dict.fromkeys([workers[0], *workers[2:]], 1)
