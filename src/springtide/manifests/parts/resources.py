# SPDX-License-Identifier: Apache-2.0
"""Requests and limits of containers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from springtide.manifests.parts.objects import Obj, filled
from springtide.manifests.submissions.submission import Compute

GPU: Final = "nvidia.com/gpu"
TOPOLOGY_GPU: Final = "aliyun.com/gpu"
"""The resource of nodes whose GPUs are scheduled by their topology."""
_RDMA: Final = "rdma/hca"


def of_code_sync(compute: Compute) -> Obj:
    """The resources of the container that fetches the code: requests alone count, for the limits too."""
    amounts = filled(cpu=compute.cpu, memory=compute.memory)
    return filled(requests=amounts, limits=dict(amounts))


def resources(
    compute: Compute,
    gpus: int = 0,
    devices: Mapping[str, str] | None = None,
    rdma: bool = False,
    gpu_resource: str = GPU,
) -> Obj:
    """Requests and limits; {} without any. A limit that is not given is the request."""
    extended = {**({gpu_resource: str(gpus)} if gpus else {}), **(devices or {}), **({_RDMA: "1"} if rdma else {})}
    requests = {**extended, **filled(cpu=compute.cpu, memory=compute.memory)}
    limits = {
        **extended,
        **filled(cpu=compute.cpu_limit or compute.cpu, memory=compute.memory_limit or compute.memory),
    }
    return filled(requests=requests, limits=limits)
