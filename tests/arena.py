# SPDX-License-Identifier: Apache-2.0
"""What Arena v0.15.5 creates for the commands of the users' document, as the program of hack/oracle/arena.py does it.

The keys that it makes for every job are made anew. The document spreads the launcher's command over several lines,
which Arena's own chart refuses; here it is one line.
"""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Template
from typing import Any, Final

import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

Obj = dict[str, Any]
RENDERED: Final = Path(__file__).parent / "rendered_by_arena"
_BUILD: Final = Path(__file__).parents[1] / "hack" / "oracle" / "arena.py"
NAME: Final = "elastic-training"
IMAGE: Final = (
    "registry.cn-hangzhou.aliyuncs.com/ai-samples/horovod:0.20.0-tf2.3.0-torch1.6.0-mxnet1.6.0.post0-py3.7-cuda10.1"
)
SUBMIT: Final = (
    *("submit", "etjob", f"--name={NAME}", "--gpus=1", "--workers=3", "--max-workers=9", "--min-workers=1"),
    *(f"--image={IMAGE}", "--working-dir=/examples"),
)
"""Its command line but for the launcher's command, which follows."""


def etjob(workers: int = 3) -> tuple[Obj, Obj]:
    """The Secret and the TrainingJob of `arena submit etjob --workers=3`, in the order in which they are created."""
    secret, job = yaml.safe_load_all(_filled("submit.yaml"))
    for role in job["spec"]["etReplicaSpecs"].values():
        (container,) = role["template"]["spec"]["containers"]
        for variable in container["env"]:
            if variable["name"] == "workers":
                variable["value"] = str(workers)
    job["spec"]["etReplicaSpecs"]["worker"]["replicas"] = workers
    return secret, job


def bookkeeping() -> Obj:
    """The ConfigMap that it keeps beside the job, before it sets its owner."""
    return _one("configmap.yaml")


def scaleout() -> Obj:
    """`arena scaleout etjob --count=1 --timeout=10m`."""
    return _one("scaleout.yaml")


def scaleout_with_script() -> Obj:
    """The same with `--count=2 --script=/examples/grow.sh -e A=1 -e B=x,y --retry 2`."""
    return _one("scaleout-script.yaml")


def scalein() -> Obj:
    """`arena scalein etjob --count=1 --timeout=10m`."""
    return _one("scalein.yaml")


def built() -> Path:
    """The folder with the program and its charts, which is made once per machine."""
    done = subprocess.run([sys.executable, _BUILD], stdout=subprocess.PIPE, text=True, check=True)
    return Path(done.stdout.split()[-1])


@dataclass(frozen=True)
class Arena:
    """The program at work on a cluster."""

    built: Path
    home: Path
    kubectl: str
    kubeconfig: str
    namespace: str

    def __post_init__(self) -> None:
        """It looks for its charts at home, and for kubectl by a name of its own."""
        (self.home / "charts").symlink_to(self.built / "charts")
        (self.home / "arena-kubectl").symlink_to(self.kubectl)

    def __call__(self, *words: str) -> str:
        done = self._run(*words)
        assert done.returncode == 0, done
        return done.stdout + done.stderr

    def refused(self, *words: str) -> str:
        """What it complains of."""
        done = self._run(*words)
        assert done.returncode == 1, done
        return done.stderr

    def _run(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [str(self.built / "arena"), "-n", self.namespace, *words]
        path = f"{self.home}:{os.environ['PATH']}"
        environment = {"HOME": str(self.home), "KUBECONFIG": self.kubeconfig, "PATH": path}
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def _one(file: str) -> Obj:
    found: Obj = yaml.safe_load(_filled(file))
    return found


def _filled(file: str) -> str:
    private, public = _keys()
    return Template((RENDERED / file).read_text()).safe_substitute(ID_RSA=private, ID_RSA_PUB=public)


@cache
def _keys() -> tuple[str, str]:
    """In the formats of Arena's, encoded for a Secret."""
    key = rsa.generate_private_key(65537, 2048)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return base64.b64encode(private).decode(), base64.b64encode(public + b"\n").decode()
