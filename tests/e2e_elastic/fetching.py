# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end suites fetch and build, once per version, ahead of them: `make fetch`."""

from __future__ import annotations

from tests import arena
from tests.e2e_elastic import environments
from tests.programs import wheels

WHEELS = (wheels.OPEN_MPI_4, wheels.OPEN_MPI_5, wheels.MPICH, wheels.PRESETS, wheels.HOROVOD)
ENVIRONMENTS = (
    environments.OPEN_MPI,
    environments.TORCH,
    environments.TENSORFLOW,
    environments.DEEPSPEED,
    environments.KUBEFLOW_SDK,
)


def main() -> None:
    for kit in WHEELS:
        print(wheels.fetched(kit), flush=True)
    for whole in ENVIRONMENTS:
        print(environments.made(whole), flush=True)
    print(arena.built(), flush=True)


if __name__ == "__main__":
    main()
