# SPDX-License-Identifier: Apache-2.0
"""A program that uses `torch.distributed` itself, in an elastic run."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from springtide import elastic
from springtide.elastic import torch_groups

BACKEND, STEPS, PAUSE = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
torch.set_num_threads(1)
DEVICE = torch.device("cuda", 0) if BACKEND == "nccl" else torch.device("cpu")
if BACKEND == "nccl":  # refuses several ranks on one GPU, unless they seem to be on hosts of their own
    os.environ.setdefault("NCCL_HOSTID", f"host-{os.getpid()}")
    os.environ.setdefault("NCCL_SOCKET_IFNAME", "lo")
torch_groups.use(BACKEND)
torch.manual_seed(os.getpid())  # weights differ until they are handed on
model = torch.nn.Linear(4, 2).to(DEVICE)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
parallel = torch_groups.Renewed(lambda: DistributedDataParallel(model))
state = elastic.State(weights=torch.zeros(1000), model=model, optimizer=optimizer, step=0)


def learn() -> None:
    optimizer.zero_grad()
    parallel()(torch.randn(8, 4, device=DEVICE)).pow(2).mean().backward()
    optimizer.step()


def same() -> bool:
    mine = torch.cat([each.detach().reshape(-1) for each in model.parameters()])
    whole = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(whole, mine)
    return all(torch.allclose(each, mine) for each in whole)


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
        learn()
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
assert same()
if elastic.rank() == 0:
    print(f"done after {state.step} steps", flush=True)
