# SPDX-License-Identifier: Apache-2.0
"""The operators under measurement, each as a process of its own beside a server that is fresh.

Ours is `tide operator`. The other one is the program that SPRINGTIDE_OTHER_OPERATOR names, with the flags of Kubeflow's
mpi-operator 0.8; its CustomResourceDefinition is the file of the same name with `.yaml` at its end. Each works on its
own definition, as it is installed by its users.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import machine
import yaml

ROOT = Path(__file__).parent.parent
OTHER = "SPRINGTIDE_OTHER_OPERATOR"
NO_LIMIT = 100_000
COMPLAINT = re.compile(r"^[EW]\d{4} | (WARNING|ERROR|CRITICAL) |trying again")


@dataclass(frozen=True)
class Contender:
    name: str
    command: tuple[str, ...]
    """The kubeconfig's path follows."""
    definition: Path
    jobs: str = "v2beta1"
    """The version of the API that jobs are written in."""

    def crd(self) -> dict[str, Any]:
        loaded: dict[str, Any] = yaml.load(self.definition.read_text(), Loader=yaml.CSafeLoader)
        return loaded


def ours(jobs: str = "v2beta1") -> Contender:
    command = (sys.executable, "-m", "springtide.cli", "operator", "--no-leader-elect", "--kubeconfig")
    return Contender(f"springtide {jobs}", command, ROOT / "deploy/crds/kubeflow.org_mpijobs.yaml", jobs)


def other(*, limited: bool = False) -> Contender | None:
    """None when there is none. Its default limits let half a job through in a second, so they are lifted as a rule."""
    program = os.environ.get(OTHER)
    if not program:
        return None
    limits = ("kube-api-qps", "kube-api-burst", "controller-queue-rate-limit", "controller-queue-burst")
    lifted = () if limited else tuple(f"-{name}={NO_LIMIT}" for name in limits)
    name = "other, default limits" if limited else "other, no limits"
    return Contender(name, (program, *lifted, "-kubeConfig"), Path(f"{program}.yaml"))


@dataclass(frozen=True)
class Process:
    pid: int
    log: Path

    def used(self) -> float:
        return machine.used(self.pid)

    def peak(self) -> float:
        return machine.peak(self.pid)

    def complaints(self) -> int:
        """Lines of its log that are warnings or errors, or tell of another try: of klog, and of ours."""
        return sum(COMPLAINT.search(line) is not None for line in self.log.read_text().splitlines())


@contextmanager
def running(contender: Contender, kubeconfig: str) -> Iterator[Process]:
    # Installed packages have their byte code beside them; a development machine may forbid to write it.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory(prefix="bench-") as home:
        log = Path(home) / "log"
        with log.open("wb") as output:
            command = [*contender.command, kubeconfig]
            process = subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT)
            try:
                yield Process(process.pid, log)
                if process.poll() is not None:
                    raise SystemExit(f"{contender.name} ended by itself:\n{log.read_text()[-3000:]}")
            finally:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(15)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
