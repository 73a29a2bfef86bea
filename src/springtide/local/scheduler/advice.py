# SPDX-License-Identifier: Apache-2.0
"""Advice for a pod that requests a resource no node has, such as a GPU, or that finds no node at all: the command that
adds one. Pure.

Programs read kube-scheduler's own message, which says what is missing. The advice is a separate event and follows that
message in the condition `PodScheduled`, from which operators repeat it on the job.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from springtide.local.scheduler.filters.resources import counted
from springtide.local.scheduler.state.amounts import Amounts
from springtide.local.scheduler.state.pods import Pod
from springtide.local.scheduler.state.snapshot import Snapshot

_GPU: Final = "nvidia.com/gpu"
_PER_GPU: Final[Mapping[str, int]] = {_GPU: 1, "nvidia.com/vgpu": 10, "nvidia.com/gpumem": 16 * 1024}
"""The extended resources of a node with one simulated GPU."""
_PLENTY: Final = 8
"""Simulated devices are free: enough for the other pods of a job."""


def missing(pod: Pod, snapshot: Snapshot) -> Amounts:
    """The pod's requests for resources that no node offers."""
    wanted = counted(pod.requests, snapshot.strict_resources)
    offered = {name for state in snapshot.nodes for name, amount in state.node.allocatable.items() if amount}
    return {name: amount for name, amount in wanted.items() if "/" in name and name not in offered}


def explained(pod: Pod, snapshot: Snapshot, flags: str = "") -> str:
    """What is missing and the command that adds it, or "". `flags` identify the cluster to `tide`."""
    if not snapshot.nodes:  # one as large as the machine, with its GPUs; others are advised when these are too few
        return f"Add a node to this cluster: tide node add worker-1{flags}"
    known = all("pods" in state.node.allocatable for state in snapshot.nodes)
    lacking = missing(pod, snapshot) if known else {}
    if not lacking:
        return ""
    gpus = [math.ceil(amount / _PER_GPU[name]) for name, amount in lacking.items() if name in _PER_GPU]
    amounts = {_GPU: max(_PLENTY, *gpus)} if gpus else {}
    amounts |= {name: max(_PLENTY, amount) for name, amount in lacking.items() if name not in _PER_GPU}
    taken = {state.name for state in snapshot.nodes}
    stem = "gpu" if gpus else "node"
    name = next(each for number in range(1, len(taken) + 2) if (each := f"{stem}-{number}") not in taken)
    spec = ",".join(f"{resource}:{amount}" for resource, amount in amounts.items())
    return (
        f"No node of this cluster offers {' and '.join(sorted(lacking))}. "
        f"Add one that does, with devices that do not exist, to try it out: tide node add {name}={spec}{flags}"
    )
