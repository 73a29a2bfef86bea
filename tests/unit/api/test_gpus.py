# SPDX-License-Identifier: Apache-2.0
"""GPUs of pods and pod templates."""

from __future__ import annotations

from typing import Any

import pytest

from springtide.api import gpus


def limited(**limits: Any) -> dict[str, Any]:
    return {"resources": {"limits": {name.replace("_", "/"): amount for name, amount in limits.items()}}}


@pytest.mark.parametrize(
    ("containers", "of_job", "of_instance"),
    [
        pytest.param(None, 0, 0, id="no containers"),
        pytest.param([{}], 0, 0, id="no resources"),
        pytest.param([limited(cpu="4")], 0, 0, id="no GPUs"),
        pytest.param([limited(**{"nvidia.com_gpu": 2})], 2, 2, id="a number"),
        pytest.param([limited(**{"nvidia.com_gpu": "2"}), limited(**{"nvidia.com_gpu": "1"})], 3, 3, id="a sum"),
        pytest.param([limited(**{"alpha.kubernetes.io_nvidia-gpu": "1"})], 1, 0, id="the name before"),
        pytest.param([limited(**{"aliyun.com_gpu": "4"})], 0, 4, id="GPUs by topology"),
        pytest.param([limited(**{"nvidia.com_gpu": "many"})], 0, 0, id="no quantity"),
        pytest.param([{"resources": "many"}], 0, 0, id="no resources at all"),
        pytest.param([{"resources": {"limits": ["nvidia.com/gpu"]}}], 0, 0, id="no limits at all"),
        pytest.param([{"resources": {"requests": {"nvidia.com/gpu": "1"}}}], 0, 0, id="a request alone"),
    ],
)
def test_gpus_are_the_limits_of_all_containers(containers: Any, of_job: int, of_instance: int) -> None:
    spec = {"containers": containers}
    assert (gpus.of_job(spec), gpus.of_instance(spec)) == (of_job, of_instance)
