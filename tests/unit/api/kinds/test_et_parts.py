# SPDX-License-Identifier: Apache-2.0
"""The names that users' own volumes and containers in a TrainingJob must not have."""

from __future__ import annotations

from springtide.api.kinds.attach_mode import AttachMode
from springtide.api.kinds.et_parts import KEYS_VOLUME, parts_of
from springtide.api.kinds.pod_parts import Parts
from springtide.api.kinds.replicas import LAUNCHER, WORKER

VOLUMES = ("training-job-config", "training-job-hostfile", "deepspeed-hostfile")
CONTAINERS = ("init-hostfile", "wait-for-hosts")


def test_a_launcher_gets_files_and_either_keys_or_kubectl() -> None:
    assert parts_of(AttachMode.SSH, LAUNCHER, "keys") == Parts((*VOLUMES, "keys", KEYS_VOLUME), CONTAINERS)
    assert parts_of(AttachMode.KUBEXEC, LAUNCHER, "keys") == Parts(
        (*VOLUMES, "training-job-kubectl"), (*CONTAINERS, "kubectl-delivery")
    )


def test_a_worker_gets_either_keys_or_the_file_that_starts_ranks() -> None:
    assert parts_of(AttachMode.SSH, WORKER, "keys") == Parts(("keys",))
    assert parts_of(AttachMode.KUBEXEC, WORKER, "keys") == Parts(("training-job-config",))
