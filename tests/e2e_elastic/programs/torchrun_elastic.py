# SPDX-License-Identifier: Apache-2.0
"""A program that torchrun starts again at every change of the group: it goes on from its checkpoint.

python torchrun_elastic.py CHECKPOINT STEPS PAUSE

Rank 0 keeps the checkpoint, which all ranks can read. Each step sums a one of every rank, so that the group itself says
its size. PAUSE is a file with the seconds that a step rests.
"""

from __future__ import annotations

import datetime
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist


def main(checkpoint: Path, steps: int, pause: Path) -> None:
    signal.signal(signal.SIGTERM, _leaves)
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
    rank, host = dist.get_rank(), os.environ.get("HOSTNAME", "")
    model = torch.nn.Linear(4, 1)
    torch.manual_seed(0)
    step, state = torch.load(checkpoint, weights_only=True) if checkpoint.exists() else (0, model.state_dict())
    model.load_state_dict(state)
    trained = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(trained.parameters(), lr=0.05)
    print(f"rank {rank} of {dist.get_world_size()} on {host} from step {step}", flush=True)
    while step < steps:
        inputs = torch.randn(16, 4)
        loss = ((trained(inputs) - inputs.sum(1, keepdim=True)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ones = torch.ones(1)
        dist.all_reduce(ones)
        step += 1
        if rank == 0:
            _keep(checkpoint, (step, model.state_dict()))
            print(f"step {step} size {int(ones)} loss {loss.item():.6f}", flush=True)
        time.sleep(float(pause.read_text()))
    print(f"rank {rank} done after {step} steps", flush=True)
    dist.destroy_process_group()


def _keep(checkpoint: Path, state: Any) -> None:
    new = checkpoint.with_suffix(".new")
    torch.save(state, new)
    new.rename(checkpoint)


def _leaves(number: int, _frame: object) -> None:
    print(f"{signal.Signals(number).name} seen on {os.environ.get('HOSTNAME', '')}", flush=True)
    sys.exit(128 + number)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
