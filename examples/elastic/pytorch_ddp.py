# SPDX-License-Identifier: Apache-2.0
"""Learns to read handwritten digits by PyTorch's DistributedDataParallel, with as many workers as there happen to be.

    python pytorch_ddp.py                                              alone
    tiderun -np 2 -H localhost:2 python pytorch_ddp.py                 two ranks on this machine
    tiderun -np 2 --min-np 1 --max-np 3 --host-discovery-script ./hosts.sh python pytorch_ddp.py

What makes it elastic is marked by numbers: (1) PyTorch's process group is made by torch_groups, one for every size;
(2) a model under DDP belongs to a group, so there is a new one with every group; (3) what must not be lost is in a
State; (4) a Sampler shares out every batch among the ranks of now; (5) workers come and go between two steps.

With the same batches the result is the same, whatever the size was. pytorch_ddp.yaml is the same as a job.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

from springtide import elastic
from springtide.elastic import torch_groups
from springtide.stand_ins import digits as handwritten

BATCH = 128  # of all ranks together: a step is the same step whatever the size
COMMIT = 5  # steps that a death may cost


def main() -> None:
    options = asked()
    device = chosen_device()
    (pixels, digits), unseen = data(device)
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)

    torch_groups.use("nccl" if device.type == "cuda" else "gloo")  # (1) in place of dist.init_process_group
    parallel = torch_groups.Renewed(lambda: DistributedDataParallel(model))  # (2)
    state = elastic.State(  # (3)
        checkpoint=options.checkpoint,
        model=model,
        optimizer=optimizer,
        sampler=elastic.Sampler(len(digits), batch=BATCH),  # (4)
        step=0,
    )

    @elastic.run
    def train(state: elastic.State) -> None:
        say(f"trains from step {state.step} size {elastic.size()}")
        while state.sampler.epoch < options.epochs:
            for share in state.sampler:
                optimizer.zero_grad()
                loss = cross_entropy(parallel()(pixels[share]), digits[share], reduction="sum") / BATCH
                (loss * elastic.size()).backward()  # DDP takes the mean over ranks; this makes it their sum
                optimizer.step()
                state.step += 1
                if state.step % 10 == 0:
                    total = loss.detach()
                    dist.all_reduce(total)
                    elastic.report(step=state.step, loss=total, samples=10 * BATCH)
                    say(f"step {state.step} loss {total:.4f} size {elastic.size()}")
                rest(options.pause)
                if state.step % COMMIT:
                    state.check()  # (5)
                else:
                    state.commit()  # (5)

    train(state)
    say(f"step {state.step} accuracy {accuracy(model, *unseen):.3f} size {elastic.size()}")


def chosen_device() -> torch.device:
    if not torch.cuda.is_available():
        return torch.device("cpu")
    device = torch.device("cuda", int(os.environ.get("TIDE_SLOT", "0")))  # each rank of a host has a slot of its own
    torch.cuda.set_device(device)
    return device


def data(device: torch.device) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Pixels and digits to learn from, and others to be tested with."""
    seen, unseen = handwritten.parted()
    return tensors(seen, device), tensors(unseen, device)


def tensors(found: handwritten.Digits, device: torch.device) -> tuple[Tensor, Tensor]:
    pixels = torch.tensor(found.pixels, dtype=torch.float32, device=device)
    return pixels, torch.tensor(found.labels, device=device)


def accuracy(model: nn.Module, pixels: Tensor, digits: Tensor) -> float:
    with torch.no_grad():
        return float((model(pixels).argmax(dim=1) == digits).float().mean())


def rest(pause: str) -> None:
    """Leaves time to watch it; in a file it may change meanwhile."""
    time.sleep(float(Path(pause).read_text() if pause.startswith("/") else pause))


def say(text: str) -> None:
    """Once, not once by each rank."""
    if elastic.rank() == 0:
        print(text, flush=True)


def asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Learns to read handwritten digits, with any number of workers.")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--pause", default="0", metavar="SECONDS", help="after every step, or a file that says so")
    parser.add_argument("--checkpoint", metavar="DIR", help="where a run that nobody survives goes on from")
    return parser.parse_args()


if __name__ == "__main__":
    main()
