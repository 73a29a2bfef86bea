# SPDX-License-Identifier: Apache-2.0
"""Kubeflow's mpi-operator, built from the Go module registry: what our operator is measured beside.

    python hack/oracle/mpi_operator.py       builds it once, in the cache outside the checkout; prints its path

Its CustomResourceDefinition lies beside it under the same name with `.yaml` at its end.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import control_plane

MODULE = "github.com/kubeflow/mpi-operator"
SOURCE = Path(__file__).parent / "mpi-operator"
"""A module that pins it and all that it needs."""


def build() -> Path:
    target = control_plane.cache().parent / "mpi-operator" / _go("list", "-m", "-f", "{{.Version}}", MODULE)
    program = target / "mpi-operator"
    if program.exists():
        return program
    target.mkdir(parents=True, exist_ok=True)
    partial = target / "partial"
    _go("build", "-trimpath", "-ldflags", "-s -w", "-o", str(partial), f"{MODULE}/cmd/mpi-operator")
    definition = Path(_go("list", "-m", "-f", "{{.Dir}}", MODULE)) / "manifests/base/kubeflow.org_mpijobs.yaml"
    shutil.copyfile(definition, f"{program}.yaml")
    partial.rename(program)
    return program


def _go(*words: str) -> str:
    environment = {**os.environ, "GOFLAGS": "-mod=mod -buildvcs=false"}
    done = subprocess.run(["go", *words], cwd=SOURCE, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()


if __name__ == "__main__":
    print(build())
