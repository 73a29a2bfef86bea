# SPDX-License-Identifier: Apache-2.0
"""A program in Horovod's names that needs no framework; a number on its command line is a rank that is to fail."""

from __future__ import annotations

import sys
from typing import Any

import horovod
import horovod.common.exceptions
import horovod.objects
import horovod.world as hvd
import numpy as np

from springtide import elastic

hvd.init()
assert horovod.__version__.startswith("0.28.1+springtide.")
assert hvd.mpi_enabled()
rank, size = hvd.rank(), hvd.size()
if sys.argv[1:] == [str(rank)]:
    raise RuntimeError(f"rank {rank} was asked to fail")

large = np.full(100_000, float(rank))  # too large to be sent with the weights
mean = elastic.allreduce(large)[0]
total = elastic.allreduce(large, average=False)[0]
root = horovod.objects.broadcast_object(rank, root_rank=1)
assert horovod.objects.allgather_object(rank) == list(range(size))

state = elastic.State(value=np.full(3, 7.0 if rank == 0 else 0.0), step=0, sampler=elastic.Sampler(10, batch=3))


@elastic.run
def train(state: Any) -> None:
    for share in state.sampler:
        elastic.allreduce(np.ones(3), weight=len(share))
        state.step += 1
        state.commit()


train(state)
print(
    f"rank {rank} of {size}: mean {mean}, sum {total}, root's {root}, state {state.value[0]}, steps {state.step}\n",
    end="",
    flush=True,
)
elastic.barrier()
