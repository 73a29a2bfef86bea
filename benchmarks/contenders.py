# SPDX-License-Identifier: Apache-2.0
"""The operators under measurement, each as a process of its own beside a server that is fresh.

Ours is `tide operator`. The others are the programs that SPRINGTIDE_OTHER_OPERATOR and SPRINGTIDE_TRAINING_OPERATOR
name, with the flags of Kubeflow's mpi-operator 0.8 and training-operator 1.9.3; their CustomResourceDefinitions are in
the file of the same name with `.yaml` at its end. Each works on its own definitions, as it is installed by its users.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import machine
import yaml
from workloads import Workload

from springtide.kube.resources import SECRETS, Key, Resource

ROOT = Path(__file__).parent.parent
OTHER = "SPRINGTIDE_OTHER_OPERATOR"
TRAINING = "SPRINGTIDE_TRAINING_OPERATOR"
NO_LIMIT = 100_000
THREADS = 8
"""Reconciles at once of an operator whose own limit is lifted: as many as ours has."""
KUBEFLOW = "kubeflow"
COMPLAINT = re.compile(r"^[EW]\d{4} |\s(WARNING|WARN|ERROR|CRITICAL)\s|level=(warning|error)|trying again")
_HOOKS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)


@dataclass(frozen=True)
class Contender:
    name: str
    command: tuple[str, ...]
    """The kubeconfig's path follows."""
    definitions: tuple[Path, ...]
    workload: Workload
    namespace: str = "mpi-operator"
    """Where it is elected, or installed."""
    objects: tuple[tuple[Resource, Mapping[str, Any]], ...] = ()
    """What it is installed with, beside its definitions."""
    served: Path | None = None
    """The directory in which it expects the certificate of its webhook."""

    def crds(self) -> list[dict[str, Any]]:
        documents = (yaml.load_all(path.read_text(), Loader=yaml.CSafeLoader) for path in self.definitions)
        return [each for found in documents for each in found if each]


def ours(workload: Workload) -> Contender:
    """It serves all kinds, whatever is measured."""
    command = (sys.executable, "-m", "springtide.cli", "operator", "--no-leader-elect", "--kubeconfig")
    name = f"springtide {workload.resource.version}" if workload.kind == "MPIJob" else "springtide"
    return Contender(name, command, tuple(sorted((ROOT / "deploy/crds").glob("*.yaml"))), workload)


def other(workload: Workload, *, limited: bool = False) -> Contender | None:
    """None when there is none. Their default limits let few jobs through in a second, so they are lifted as a rule."""
    mpi = workload.kind == "MPIJob"
    program = os.environ.get(OTHER if mpi else TRAINING)
    if not program:
        return None
    name = "other, default limits" if limited else "other, no limits"
    if mpi:
        limits = ("kube-api-qps", "kube-api-burst", "controller-queue-rate-limit", "controller-queue-burst")
        lifted = () if limited else tuple(f"-{limit}={NO_LIMIT}" for limit in limits)
        return Contender(name, (program, *lifted, "-kubeConfig"), (Path(f"{program}.yaml"),), workload)
    return _training_operator(name, program, workload, limited=limited)


def _training_operator(name: str, program: str, workload: Workload, *, limited: bool) -> Contender:
    """With the two kinds that are measured alone, without metrics, and with a webhook that no server asks."""
    quiet = ("--metrics-bind-address=0", "--health-probe-bind-address=0", f"--webhook-server-port={_free_port()}")
    kinds = ("--enable-scheme=pytorchjob", "--enable-scheme=tfjob")
    limits = {"kube-api-qps": NO_LIMIT, "kube-api-burst": NO_LIMIT, "controller-threads": THREADS}
    lifted = () if limited else tuple(f"--{limit}={value}" for limit, value in limits.items())
    secret = {**SECRETS.describe(Key(KUBEFLOW, "training-operator-webhook-cert")), "type": "Opaque"}
    hooks = {**_HOOKS.describe(Key("", "validator.training-operator.kubeflow.org")), "webhooks": []}
    return Contender(
        name,
        (program, *quiet, *kinds, *lifted, "--kubeconfig"),
        (Path(f"{program}.yaml"),),
        workload,
        namespace=KUBEFLOW,
        objects=((SECRETS, secret), (_HOOKS, hooks)),
        served=Path("/tmp/k8s-webhook-server/serving-certs"),
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True)
class Process:
    pid: int
    log: Path

    def used(self) -> float:
        return machine.used(self.pid)

    def peak(self) -> float:
        return machine.peak(self.pid)

    def complaints(self) -> int:
        """Lines of its log that are warnings or errors, or tell of another try: of klog, of zap, and of ours."""
        return sum(COMPLAINT.search(line) is not None for line in self.log.read_text().splitlines())


@contextmanager
def running(contender: Contender, kubeconfig: str) -> Iterator[Process]:
    # Installed packages have their byte code beside them; a development machine may forbid to write it.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory(prefix="bench-") as home, _certificate(contender.served):
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


@contextmanager
def _certificate(place: Path | None) -> Iterator[None]:
    """What a kubelet mounts there; an operator does not start without it."""
    if place is None or (place / "tls.crt").exists():
        yield
        return
    place.mkdir(parents=True, exist_ok=True)
    files = ("-keyout", str(place / "tls.key"), "-out", str(place / "tls.crt"))
    command = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=bench", *files)
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        shutil.rmtree(place.parent)
