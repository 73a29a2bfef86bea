# SPDX-License-Identifier: Apache-2.0
"""Kubeflow's mpi-operator, built from the Go module registry: what our operator is measured beside.

    python hack/oracle/mpi_operator.py       builds it once, in the cache outside the checkout; prints its path

Its CustomResourceDefinition lies beside it under the same name with `.yaml` at its end.
"""

from __future__ import annotations

from pathlib import Path

import go_program

MODULE = "github.com/kubeflow/mpi-operator"


def build() -> Path:
    source = Path(__file__).parent / "mpi-operator"
    files = ["manifests/base/kubeflow.org_mpijobs.yaml"]
    return go_program.build(source, MODULE, "cmd/mpi-operator", "mpi-operator", files)


if __name__ == "__main__":
    print(build())
