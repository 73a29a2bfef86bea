# SPDX-License-Identifier: Apache-2.0
"""Horovod's names for PyTorch among several ranks, or one: whatever is not as it should be ends it with an error."""

from __future__ import annotations

import copy

import torch

import springtide.elastic.horovod.torch as hvd
from springtide import elastic

hvd.init()
torch.set_num_threads(1)
assert hvd.is_initialized()
hvd.barrier()
RANK, SIZE = hvd.rank(), hvd.size()
MEAN = sum(range(SIZE)) / SIZE


def refused(error: type[Exception], words: str, *call: object) -> None:
    function, *arguments = call
    try:
        function(*arguments)  # type: ignore[operator]
    except error as found:
        assert words in str(found), found
    else:
        raise AssertionError(f"not refused: {words}")


def reductions() -> None:
    mine = torch.full((3, 2), float(RANK))
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        found = hvd.allreduce(mine.to(dtype))
        assert found.dtype == dtype
        assert torch.allclose(found.float(), torch.full((3, 2), MEAN), atol=0.01), found
    assert hvd.allreduce(mine, op=hvd.Sum).eq(SIZE * MEAN).all()
    assert hvd.allreduce(mine, average=False).eq(SIZE * MEAN).all()
    assert torch.allclose(hvd.allreduce(mine, compression=hvd.Compression.fp16), torch.tensor(MEAN), atol=0.01)
    assert torch.allclose(hvd.allreduce(mine, op=hvd.Sum, prescale_factor=0.5), torch.tensor(SIZE * MEAN / 2))
    assert hvd.allreduce(torch.tensor([RANK + 1]), op=hvd.Sum).tolist() == [sum(range(SIZE + 1))]
    assert mine.eq(RANK).all(), "what is given is left alone"
    hvd.allreduce_(mine)
    assert torch.allclose(mine, torch.full((3, 2), MEAN)), "unless it is asked for"
    assert hvd.synchronize(hvd.allreduce_async(torch.ones(1), op=hvd.Sum)).item() == SIZE
    assert [each.item() for each in hvd.grouped_allreduce([torch.ones(1), torch.tensor([2.0])])] == [1.0, 2.0]
    value = torch.ones(2, requires_grad=True)
    hvd.allreduce(value * (RANK + 1), op=hvd.Sum).sum().backward()
    assert value.grad is not None
    assert value.grad.eq(SIZE * (RANK + 1)).all(), "sums are differentiable"
    assert hvd.allreduce(torch.tensor([2**60 + 1])).item() == 2**60 + 1, "means of whole numbers are exact"
    assert hvd.allreduce_async(torch.ones(1), None, "a name", hvd.Sum).item() == SIZE
    typo = {"opp": hvd.Sum}
    refused(TypeError, "opp", lambda: hvd.allreduce(mine, **typo))  # type: ignore[arg-type]
    refused(NotImplementedError, "process sets", lambda: hvd.allreduce(mine, process_set=object()))
    refused(AttributeError, "hvd.alltoall is not offered".replace("hvd", hvd.__name__), lambda: hvd.alltoall)
    refused(AttributeError, "no attribute 'nonsense'", lambda: hvd.nonsense)
    refused(NotImplementedError, "Adasum is not offered", lambda: hvd.allreduce(mine, op=hvd.Adasum))
    refused(NotImplementedError, "op=Min", lambda: hvd.allreduce(mine, op=hvd.Min))
    refused(ValueError, "set the same option", lambda: hvd.allreduce(mine, average=True, op=hvd.Sum))


def exchanges() -> None:
    gathered = hvd.allgather(torch.full((RANK + 1, 2), RANK))
    assert gathered[:, 0].tolist() == [rank for rank in range(SIZE) for _ in range(rank + 1)]
    assert hvd.allgather(torch.tensor(RANK)).tolist() == list(range(SIZE))
    last = SIZE - 1
    assert hvd.broadcast(torch.tensor([RANK]), last).item() == last
    refused(ValueError, f"there is no rank {SIZE}", lambda: hvd.broadcast(torch.ones(1), SIZE))
    value = torch.full((RANK + 1,), 1.0, requires_grad=True)
    (hvd.allgather(value) * (RANK + 1)).sum().backward()
    assert value.grad is not None
    assert value.grad.eq(sum(range(SIZE + 1))).all(), "what is gathered is differentiable"
    value = torch.ones(2, requires_grad=True)
    (hvd.broadcast(value, last) * (RANK + 1)).sum().backward()
    assert value.grad is not None
    assert value.grad.eq(sum(range(SIZE + 1)) if last == RANK else 0).all(), "and so is what one rank gives to all"
    assert hvd.broadcast_object({"rank": RANK}, last) == {"rank": last}
    assert hvd.allgather_object((RANK, "x" * RANK)) == [(rank, "x" * rank) for rank in range(SIZE)]


def optimizers() -> None:
    torch.manual_seed(RANK)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 1))
    for kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.Adagrad):
        plain = kind(model.parameters(), lr=0.1 + RANK)
        schedule = torch.optim.lr_scheduler.StepLR(plain, 1)
        optimizer = hvd.DistributedOptimizer(plain, named_parameters=model.named_parameters())
        assert isinstance(optimizer, kind)
        assert hvd.DistributedOptimizer(optimizer) is optimizer
        if RANK == 0:  # has something in it that the others lack
            model(torch.randn(4, 4)).sum().backward()
            with optimizer.skip_synchronize():
                optimizer.step()
        hvd.broadcast_parameters(model.state_dict(), root_rank=0)
        hvd.broadcast_optimizer_state(optimizer, root_rank=0)
        assert optimizer.param_groups[0]["lr"] == 0.1
        for _ in range(3):
            optimizer.zero_grad()
            if RANK != 1:  # one rank has an empty batch
                model(torch.randn(4, 4)).pow(2).sum().backward()
            optimizer.synchronize()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            with optimizer.skip_synchronize():
                optimizer.step()
        schedule.step()
        same([each.detach() for each in model.parameters()])


def mean_gradients() -> None:
    torch.manual_seed(1)
    data, model = torch.randn(2 * SIZE, 3), torch.nn.Linear(3, 1)
    alone = copy.deepcopy(model)
    alone(data).mean().backward()
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=1.0), backward_passes_per_step=2)
    for row in (2 * RANK, 2 * RANK + 1):
        (model(data[row : row + 1]).mean() / 2).backward()
    optimizer.synchronize()
    for mine, whole in zip(model.parameters(), alone.parameters(), strict=True):
        assert torch.allclose(mine.grad, whole.grad, atol=1e-6)


def sparse_gradients() -> None:
    for dense in (False, True):
        torch.manual_seed(2)
        table = torch.nn.Embedding(8, 2, sparse=True)
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD(table.parameters(), lr=1.0), sparse_as_dense=dense)
        table(torch.tensor([RANK, 7])).sum().backward()
        optimizer.synchronize()
        gradient = table.weight.grad
        assert gradient is not None
        expected = torch.zeros(8, 2)
        expected[:SIZE] += 1 / SIZE
        expected[7] += 1
        assert torch.allclose(gradient.to_dense(), expected)
        if gradient.is_sparse or dense:
            optimizer.step()
        same([table.weight.detach()])


def trees() -> None:
    """The library's own sums take tensors too, and weigh them."""
    tree = {"a": torch.full((2,), float(RANK)), "b": [torch.ones(1, dtype=torch.bfloat16), 2.0]}
    found = elastic.allreduce(tree, weight=RANK)
    mean = sum(rank * rank for rank in range(SIZE)) / max(sum(range(SIZE)), 1)
    assert torch.allclose(found["a"], torch.tensor(mean if SIZE > 1 else 0.0)), found
    assert found["b"][0].dtype == torch.bfloat16
    assert elastic.allreduce(torch.ones(3), average=False).tolist() == [SIZE] * 3


def same(tensors: list[torch.Tensor]) -> None:
    for tensor in tensors:
        rows = hvd.allgather(tensor.reshape(1, -1))
        assert rows.eq(rows[0]).all(), rows


def checks() -> None:
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    refused(ValueError, "lacks 1", lambda: hvd.DistributedOptimizer(optimizer, [("bias", model.bias)]))
    pairs = [("a", model.bias), ("a", model.weight)]
    refused(ValueError, "more than once: a", lambda: hvd.DistributedOptimizer(optimizer, pairs))
    refused(NotImplementedError, "Adasum", lambda: hvd.DistributedOptimizer(optimizer, op=hvd.Adasum))


for check in (reductions, exchanges, optimizers, mean_gradients, sparse_gradients, trees, checks):
    check()
print(f"rank {RANK} of {SIZE}: all is well", flush=True)
