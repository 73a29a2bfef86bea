# SPDX-License-Identifier: Apache-2.0
"""A program that uses `torch.distributed` itself, in an elastic run."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist

from springtide import elastic
from springtide.elastic import torch_groups

BACKEND, STEPS, PAUSE = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
torch.set_num_threads(1)
DEVICE = torch.device("cuda", 0) if BACKEND == "nccl" else torch.device("cpu")
if BACKEND == "nccl":  # refuses several ranks on one GPU, unless they seem to be on hosts of their own
    os.environ.setdefault("NCCL_HOSTID", f"host-{os.getpid()}")
    os.environ.setdefault("NCCL_SOCKET_IFNAME", "lo")
torch_groups.use(BACKEND)
state = elastic.State(weights=torch.zeros(1000), step=0)


@elastic.run
def train(state: elastic.State) -> None:
    print(f"rank {elastic.rank()} of {elastic.size()} trains from step {state.step} pid {os.getpid()}", flush=True)
    before = elastic.size()
    while state.step < STEPS:
        if state.step % 10 == 0 and elastic.rank() == 0:
            print(f"step {state.step} size {elastic.size()}", flush=True)
        ones = torch.ones(1000, device=DEVICE)
        dist.all_reduce(ones)
        assert ones.eq(dist.get_world_size()).all(), ones
        state.weights += ones.cpu() / dist.get_world_size()
        state.step += 1
        time.sleep(float(PAUSE.read_text()))
        state.commit()
        if elastic.size() != before:
            before = elastic.size()
            rank, step = elastic.rank(), state.step
            print(f"rank {rank} of {before} goes on at step {step} pid {os.getpid()}", flush=True)


train(state)
assert state.weights.eq(STEPS).all()
if elastic.rank() == 0:
    print(f"done after {state.step} steps", flush=True)
