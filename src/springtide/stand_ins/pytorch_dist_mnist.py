# SPDX-License-Identifier: Apache-2.0
"""Stands in for the example mnist.py of the PyTorch operator: all replicas of a PyTorchJob train one model together.

MASTER_ADDR, MASTER_PORT, WORLD_SIZE and RANK lead the processes to each other. Without them the program trains alone.
"""

from __future__ import annotations

import argparse
import os
import socket

import torch
import torch.distributed as dist
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from springtide.stand_ins import digits, training

STANDS_FOR = "the PyTorch operator's example dist-mnist"
INSTEAD = (
    "It trains a network of 64 hidden units with PyTorch's DistributedDataParallel on 1,797 handwritten digits; MNIST "
    "is not used."
)
ALONE = {"MASTER_ADDR": "localhost", "MASTER_PORT": "0", "WORLD_SIZE": "1", "RANK": "0"}
WAYS_OUT = {
    "mpi": "PyTorch's wheels come without the MPI backend. Use --backend gloo, or train over MPI in an MPIJob whose "
    "program uses mpi4py, such as Springtide's examples/mpirun/pi.yaml.",
    "nccl": "NCCL needs a GPU in every replica, and a PyTorch with its libraries for GPUs. Use --backend gloo without.",
}


def asked(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=f"A stand-in for {STANDS_FOR}. {INSTEAD}", allow_abbrev=False)
    parser.add_argument("--backend", choices=("gloo", "mpi", "nccl"), default="gloo")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=32, help="digits of one rank in one step")
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--momentum", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log-interval", type=int, default=training.OFTEN, help="steps between two lines")
    for name in ("--no-cuda", "--save-model"):  # without effect, like the next two
        parser.add_argument(name, action="store_true", help=argparse.SUPPRESS)
    for name in ("--dir", "--test-batch-size"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main() -> None:
    options = asked()
    training.introduce(STANDS_FOR, INSTEAD)
    join(options.backend)
    ones = torch.ones(1, device=device())
    dist.all_reduce(ones)
    group = f"rank {dist.get_rank()} of {dist.get_world_size()} on {socket.gethostname()}"
    training.say(f"{group}, backend {dist.get_backend()}; the sum of a one from each is {int(ones)}")
    train(options)
    dist.barrier()  # the first rank's store must outlive the others' last step
    dist.destroy_process_group()


def join(backend: str) -> None:
    for name, value in ALONE.items():
        os.environ.setdefault(name, value)
    try:
        dist.init_process_group(backend)
    except (RuntimeError, ValueError) as error:
        if backend in WAYS_OUT:
            error.add_note(WAYS_OUT[backend])
        raise


def device() -> str:
    return "cuda" if dist.get_backend() == "nccl" else "cpu"


def train(options: argparse.Namespace) -> None:
    torch.manual_seed(options.seed)
    seen, unseen = (
        TensorDataset(torch.tensor(part.pixels, dtype=torch.float32), torch.tensor(part.labels))
        for part in digits.parted()
    )
    layers = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
    network = DistributedDataParallel(layers.to(device()))
    optimizer = torch.optim.SGD(network.parameters(), lr=options.lr, momentum=options.momentum)
    sampler = DistributedSampler(seen, seed=options.seed)  # a share of the digits for each rank
    batches = DataLoader(seen, options.batch_size, sampler=sampler)
    step = 0
    for epoch in range(1, options.epochs + 1):
        sampler.set_epoch(epoch)
        for pixels, labels in batches:
            loss = functional.cross_entropy(network(pixels.to(device())), labels.to(device()))
            optimizer.zero_grad()
            loss.backward()  # sums the gradients of all ranks
            optimizer.step()
            step += 1
            if step == 1 or step % options.log_interval == 0:
                training.say(f"Train epoch {epoch} step {step}: loss {loss.item():.4f}")
    with torch.no_grad():
        pixels, labels = unseen.tensors
        right = (network(pixels.to(device())).argmax(dim=1).cpu() == labels).float().mean().item()
    training.say(f"Trained {step} steps with {dist.get_world_size()} ranks; accuracy {right:.4f} on digits kept back")


if __name__ == "__main__":
    main()
