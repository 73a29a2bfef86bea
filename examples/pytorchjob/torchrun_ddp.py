# SPDX-License-Identifier: Apache-2.0
"""DistributedDataParallel under torchrun, which starts the program anew when the number of nodes changes.

It goes on from its checkpoint, in the directory that its argument names: a volume that all workers have.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

STEPS, BATCH, SAMPLES = 400, 256, 4096


def main(checkpoint: Path) -> None:
    distributed.init_process_group("gloo")
    rank, size = distributed.get_rank(), distributed.get_world_size()
    torch.manual_seed(0)
    inputs = torch.randn(SAMPLES, 16)
    wanted = (inputs @ torch.randn(16, 1)).tanh()
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    begin = 0
    if checkpoint.exists():
        saved = torch.load(checkpoint)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        begin = saved["step"]
    print(f"rank {rank} of {size} begins after step {begin}", flush=True)
    together = DistributedDataParallel(model)
    for step in range(begin + 1, STEPS + 1):
        batch = torch.randperm(SAMPLES, generator=torch.Generator().manual_seed(step))[:BATCH][rank::size]
        loss = ((together(inputs[batch]) - wanted[batch]) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.2)  # the work of a larger model
        if rank == 0 and step % 10 == 0:
            print(f"step {step}: loss {loss.item():.4f} with {size} ranks", flush=True)
            save(checkpoint, {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step})


def save(checkpoint: Path, state: dict[str, object]) -> None:
    """Whole or not at all: the program may be stopped at any time."""
    partial = checkpoint.with_suffix(".partial")
    torch.save(state, partial)
    os.replace(partial, checkpoint)


if __name__ == "__main__":
    main(Path(sys.argv[1]) / "state.pt")
