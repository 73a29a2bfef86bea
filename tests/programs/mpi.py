# SPDX-License-Identifier: Apache-2.0
"""What runs of `mpirun` have in common: an environment with Open MPI, and an allreduce whose result is known."""

from __future__ import annotations

from pathlib import Path

from tests.programs.wheels import OPEN_MPI_5
from tests.programs.world import Cluster

LONG = 120
"""Steps of a run in whose middle something happens."""


def make_environment(cluster: Cluster, packages: Path) -> None:
    """From the wheels that were fetched, by pip or by uv."""
    index = {f"{tool}_FIND_LINKS": str(packages) for tool in ("PIP", "UV")}
    cluster.tide.environment.update(index | {"PIP_NO_INDEX": "1", "UV_OFFLINE": "1"})
    wanted = [word for package in OPEN_MPI_5.all for word in ("--pip", package)]
    made = cluster.tide.run("env", "create", "mpi", *wanted, "--image", "mpi/*")
    assert made.returncode == 0, made


def wait_for_the_middle(cluster: Cluster) -> None:
    """Of a long run: it has begun to compute and is not about to end."""
    said = ""

    def computes() -> bool:
        nonlocal said
        said = cluster.kubectl.run("logs", "launcher").stdout
        return "step 10\n" in said

    cluster.until(computes, "the tenth step")
    assert f"step {LONG // 2}\n" not in said, "seen too late to show anything"


def check(logs: str, steps: int) -> None:
    """Every step in its order, and every rank with the total of the last one."""
    lines = logs.splitlines()
    assert [line for line in lines if line.startswith("step")] == [f"step {step}" for step in range(steps)]
    total = 3 + 3 * (steps - 1)
    ranks = sorted(line for line in lines if line.startswith("rank"))
    assert ranks == [f"rank {rank} of 3 on worker-{rank} total {total}" for rank in range(3)], logs
