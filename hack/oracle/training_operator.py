# SPDX-License-Identifier: Apache-2.0
"""Kubeflow's training-operator, built from the Go module registry: what our PyTorchJobs and TFJobs are measured beside.

    python hack/oracle/training_operator.py      builds it once, in the cache outside the checkout; prints its path

Its CustomResourceDefinitions lie beside it in one file under the same name with `.yaml` at its end.
"""

from __future__ import annotations

from pathlib import Path

import go_program

MODULE = "github.com/kubeflow/training-operator"
DEFINITIONS = "manifests/base/crds"
KINDS = ("pytorchjobs", "tfjobs")


def build() -> Path:
    source = Path(__file__).parent / "training-operator"
    files = [f"{DEFINITIONS}/kubeflow.org_{kind}.yaml" for kind in KINDS]
    return go_program.build(source, MODULE, "cmd/training-operator.v1", "training-operator", files)


if __name__ == "__main__":
    print(build())
