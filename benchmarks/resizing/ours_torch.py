# SPDX-License-Identifier: Apache-2.0
"""A program of ours with PyTorch: a module, and a gloo group that is made anew in every generation."""

from __future__ import annotations

import steps
import torch
import torch.distributed as dist

from springtide import elastic
from springtide.elastic import torch_groups

diary = steps.Diary()
few = torch.zeros(1000)


@elastic.run
def train(state: elastic.State) -> None:
    while True:
        steps.work()
        dist.all_reduce(few)
        state.step += 1
        diary.note(elastic.rank(), elastic.size(), state.step)
        if state.step % steps.COMMIT:
            state.check()
        else:
            state.commit()


torch_groups.use("gloo")
model = torch.nn.ParameterList(torch.ones(count) for count in steps.arrays())
train(elastic.State(model=model, step=0))
