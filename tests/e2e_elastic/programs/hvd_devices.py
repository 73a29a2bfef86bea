# SPDX-License-Identifier: Apache-2.0
"""Large sums of tensors on GPUs, one after the other without a rest, by NCCL: what is committed must be right."""

from __future__ import annotations

import os
import sys

import torch

import springtide.elastic.horovod.torch as hvd
from springtide.elastic.horovod.torch import devices

# Several ranks on one GPU, which NCCL refuses unless they seem to be on hosts of their own.
os.environ.setdefault("NCCL_HOSTID", f"host-{os.getpid()}")
os.environ.setdefault("NCCL_SOCKET_IFNAME", "lo")
if sys.argv[2] == "nccl":
    devices.identity = lambda: str(os.getpid())
hvd.init()
torch.cuda.set_device(0)
state = hvd.elastic.TorchState(total=torch.zeros(1), step=0)


@hvd.elastic.run
def train(state: hvd.elastic.TorchState) -> None:
    print(f"rank {hvd.rank()} of {hvd.size()} trains from step {state.step} pid {os.getpid()}", flush=True)
    assert state.total.item() == state.step, (state.total, state.step)
    while state.step < int(sys.argv[1]):
        mean = hvd.allreduce(torch.ones(16 << 20, device="cuda"))
        state.total += mean.mean().cpu()
        state.step += 1
        if state.total.item() != state.step:
            print(f"wrong at step {state.step}: {state.total.item()}", flush=True)
        if state.step % 10 == 0 and hvd.rank() == 0:
            print(f"step {state.step} size {hvd.size()}", flush=True)
        state.commit()


train(state)
if hvd.rank() == 0:
    print(f"done after {state.step} steps with {state.total.item()}", flush=True)
