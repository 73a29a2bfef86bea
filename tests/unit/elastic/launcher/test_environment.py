# SPDX-License-Identifier: Apache-2.0
"""Which of the launcher's variables a rank gets."""

from __future__ import annotations

import pytest

from springtide.elastic.launcher import environment


@pytest.mark.parametrize(
    "name",
    [
        "HOSTNAME", "POD_NAME", "POD_IP", "KUBERNETES_SERVICE_HOST", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES",
        "HOROVOD_RANK", "OMPI_MCA_plm_rsh_agent", "PMI_RANK", "PMIX_NAMESPACE", "TIDE_WORKER", "PATH", "HOME",
        "K_SERVICE",
    ],
)  # fmt: skip
def test_what_belongs_to_the_launcher_or_to_a_host_is_not_passed_on(name: str) -> None:
    assert environment.passed_on({name: "x", "MINE": "y"}) == {"MINE": "y"}


@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "NCCL_DEBUG", "LD_LIBRARY_PATH", "TF_CONFIG", "K_FOLDS", "PMIN"])
def test_what_is_meant_for_the_program_is_passed_on(name: str) -> None:
    assert environment.passed_on({name: "x"}) == {name: "x"}


def test_on_the_launchers_own_host_only_its_own_words_are_taken_away() -> None:
    given = {"HOSTNAME": "here", "CUDA_VISIBLE_DEVICES": "0", "HOROVOD_RANK": "1", "OMPI_X": "2", "PATH": "/bin"}
    assert environment.kept(given) == {"HOSTNAME": "here", "CUDA_VISIBLE_DEVICES": "0", "PATH": "/bin"}
