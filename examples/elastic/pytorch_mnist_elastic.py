# SPDX-License-Identifier: Apache-2.0
"""Elastic training with PyTorch, in the shape of Horovod's example of the same name; digits are drawn, not downloaded.

    tiderun -np 2 --min-np 1 --max-np 4 --host-discovery-script ./discover_hosts.sh python pytorch_mnist_elastic.py

A program written for Horovod says `import horovod.torch as hvd`; the rest is the same.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn, optim

import springtide.elastic.horovod.torch as hvd

parser = argparse.ArgumentParser(description="PyTorch digits, elastic")
parser.add_argument("--batch-size", type=int, default=32, metavar="N", help="samples per step and rank (32)")
parser.add_argument("--epochs", type=int, default=5, metavar="N", help="passes over the data (5)")
parser.add_argument("--samples", type=int, default=6400, metavar="N", help="digits to draw (6400)")
parser.add_argument("--lr", type=float, default=0.05, metavar="LR", help="learning rate of one rank (0.05)")
parser.add_argument("--momentum", type=float, default=0.5, metavar="M", help="of the optimizer (0.5)")
parser.add_argument("--seed", type=int, default=42, metavar="S", help="of weights and data (42)")
parser.add_argument("--log-interval", type=int, default=10, metavar="N", help="steps between two lines (10)")
parser.add_argument("--batches-per-commit", type=int, default=10, metavar="N", help="steps between two commits (10)")
parser.add_argument("--batches-per-host-check", type=int, default=1, metavar="N", help="steps between two looks (1)")
parser.add_argument(
    "--pause", default="0", metavar="S", help="seconds to rest after a step, or a file that says so (0)"
)
parser.add_argument("--fp16-allreduce", action="store_true", help="send gradients in half the size")
args = parser.parse_args()

hvd.init()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
device = torch.device("cpu")
if torch.cuda.is_available():
    device = torch.device("cuda", hvd.local_rank() % torch.cuda.device_count())
    torch.cuda.set_device(device)


def drawn(count: int) -> torch.utils.data.TensorDataset:
    """Ten patterns, and as many noisy examples of them."""
    generator = torch.Generator().manual_seed(args.seed)
    patterns = torch.rand(10, 1, 28, 28, generator=generator)
    digits = torch.randint(10, (count,), generator=generator)
    return torch.utils.data.TensorDataset(patterns[digits] + 0.3 * torch.randn(count, 1, 28, 28), digits)


train_dataset = drawn(args.samples)
train_sampler = hvd.elastic.ElasticSampler(train_dataset)
train_loader = torch.utils.data.DataLoader(train_dataset, batch_size=args.batch_size, sampler=train_sampler)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 10, kernel_size=5)
        self.conv2 = nn.Conv2d(10, 20, kernel_size=5)
        self.fc1 = nn.Linear(320, 50)
        self.fc2 = nn.Linear(50, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = F.relu(F.max_pool2d(self.conv2(x), 2))
        x = F.relu(self.fc1(x.view(-1, 320)))
        return F.log_softmax(self.fc2(x), dim=1)


model = Net().to(device)
optimizer = optim.SGD(model.parameters(), lr=args.lr * hvd.size(), momentum=args.momentum)
compression = hvd.Compression.fp16 if args.fp16_allreduce else hvd.Compression.none
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters(), compression=compression)


def metric_average(value: float, name: str) -> float:
    return float(hvd.allreduce(torch.tensor(value), name=name).item())


def rest() -> None:
    """To watch it, and to have something to wait for: a file may change meanwhile."""
    time.sleep(float(Path(args.pause).read_text() if args.pause.startswith("/") else args.pause))


@hvd.elastic.run
def train(state: hvd.elastic.TorchState) -> None:
    print(f"rank {hvd.rank()} of {hvd.size()} trains from step {state.step} pid {os.getpid()}", flush=True)
    while state.epoch < args.epochs:
        state.model.train()
        for batch_idx, (data, target) in enumerate(train_loader):
            state.optimizer.zero_grad()
            loss = F.nll_loss(state.model(data.to(device)), target.to(device))
            loss.backward()
            state.optimizer.step()
            train_sampler.record_batch(batch_idx, args.batch_size)
            state.step += 1
            if state.step % args.log_interval == 0:
                mean = metric_average(loss.item(), "loss")
                if hvd.rank() == 0:
                    lr = state.optimizer.param_groups[0]["lr"]
                    print(
                        f"step {state.step} epoch {state.epoch} size {hvd.size()} lr {lr:g} loss {mean:.4f}", flush=True
                    )
            rest()
            if args.batches_per_commit and state.step % args.batches_per_commit == 0:
                state.commit()
            elif args.batches_per_host_check and state.step % args.batches_per_host_check == 0:
                state.check_host_updates()
        state.epoch += 1
        train_sampler.set_epoch(state.epoch)
        state.commit()


def on_state_reset() -> None:
    """The total batch grows with the ranks, and the learning rate with it."""
    for group in optimizer.param_groups:
        group["lr"] = args.lr * hvd.size()


state = hvd.elastic.TorchState(model=model, optimizer=optimizer, sampler=train_sampler, epoch=0, step=0)
state.register_reset_callbacks([on_state_reset])
train(state)
if hvd.rank() == 0:
    print(f"done after {state.step} steps", flush=True)
