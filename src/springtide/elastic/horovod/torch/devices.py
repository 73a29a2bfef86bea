# SPDX-License-Identifier: Apache-2.0
"""Whether GPU tensors are reduced by NCCL: only if every rank has a GPU of its own, as NCCL rejects a shared one.

The ranks of a generation agree on it before the first tensor. Otherwise tensors go through main memory and over the
ring, as those on CPUs do.
"""

from __future__ import annotations

import pickle

import torch
import torch.distributed as dist

from springtide.elastic.groups import Group
from springtide.elastic.ranks import context
from springtide.elastic.torch_groups import ProcessGroup


class _Agreement:
    generation = 0
    direct = False


_agreement = _Agreement()


def direct(group: Group) -> bool:
    """Must be called by all ranks at the same place of their programs."""
    now = context.current()
    if now.session is None:
        return False  # ranks of mpirun have no addresses of each other
    if _agreement.generation != now.generation:
        found = [pickle.loads(each) for each in group.allgather(pickle.dumps(identity()))]
        _agreement.direct = len(set(found)) == group.size and all(found)
        if _agreement.direct:
            ProcessGroup(now, "nccl")
        _agreement.generation = now.generation
    return _agreement.direct


def identity() -> str:
    """The UUID of this rank's GPU; empty if there is no NCCL."""
    return str(torch.cuda.get_device_properties(torch.cuda.current_device()).uuid) if dist.is_nccl_available() else ""
