# SPDX-License-Identifier: Apache-2.0
"""What helps a pod that asks for something no node has, such as a GPU on a machine without any: one command. Pure.

kube-scheduler's words say what is missing, and programs read them. The advice is an event of its own, and follows those
words in the condition `PodScheduled`, where operators find it and repeat it on the job.
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
"""What a node with one GPU that does not exist offers."""
_PLENTY: Final = 8
"""What does not exist costs nothing: enough for the other pods of a job."""


def missing(pod: Pod, snapshot: Snapshot) -> Amounts:
    """What the pod asks for of resources that no node offers any of."""
    wanted = counted(pod.requests, snapshot.strict_resources)
    offered = {name for state in snapshot.nodes for name, amount in state.node.allocatable.items() if amount}
    return {name: amount for name, amount in wanted.items() if "/" in name and name not in offered}


def explained(pod: Pod, snapshot: Snapshot, flags: str = "") -> str:
    """What is missing and the command that adds it; empty where nothing is. `flags` name the cluster to `tide`."""
    known = bool(snapshot.nodes) and all("pods" in state.node.allocatable for state in snapshot.nodes)
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
