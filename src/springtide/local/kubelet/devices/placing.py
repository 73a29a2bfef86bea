# SPDX-License-Identifier: Apache-2.0
"""Choosing GPUs for a container: whole ones, or shares of some. Pure.

`nvidia.com/gpu` counts whole GPUs. `nvidia.com/vgpu` counts shares, each on a GPU of its own, of which ten fit on one;
`nvidia.com/gpumem` is the memory in MiB that each share takes of its GPU. A GPU is either allocated as a whole or
shared. Shares are placed on the fullest GPU with enough space, so that whole ones stay free.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from springtide.local.kubelet.devices.gpus import Gpu

WHOLE: Final = "nvidia.com/gpu"
SHARES: Final = "nvidia.com/vgpu"
MEMORY: Final = "nvidia.com/gpumem"
RESOURCES: Final = (WHOLE, SHARES, MEMORY)
SHARES_PER_GPU: Final = 10


class NoDeviceError(Exception):
    """Not enough GPUs are free now; the message explains why. They may be after another pod ends."""


@dataclass(frozen=True, slots=True)
class Held:
    """What one container holds of one GPU."""

    uuid: str
    shares: int = 0
    """0 for the whole GPU."""
    memory: int = 0


def place(gpus: Sequence[Gpu], held: Iterable[Held], wanted: Mapping[str, int]) -> list[Held]:
    """The GPUs for a container, in the order of `gpus`. `held` is what all other containers have."""
    others = list(held)
    whole, shares, memory = (wanted.get(name, 0) for name in RESOURCES)
    given = _whole(gpus, others, whole)
    if memory and not shares:
        shares = 1  # memory of a GPU is useless without the GPU
    given += _shared(gpus, [*others, *given], shares, memory)
    order = {gpu.uuid: position for position, gpu in enumerate(gpus)}
    return sorted(given, key=lambda part: order[part.uuid])


def _whole(gpus: Sequence[Gpu], held: Sequence[Held], count: int) -> list[Held]:
    used = {part.uuid for part in held}
    free = [gpu for gpu in gpus if gpu.uuid not in used]
    if len(free) < count:
        raise NoDeviceError(f"{_gpus(count)} wanted, but only {len(free)} of {len(gpus)} on this machine are free")
    return [Held(gpu.uuid) for gpu in free[:count]]


def _shared(gpus: Sequence[Gpu], held: Sequence[Held], count: int, memory: int) -> list[Held]:
    free_parts = [(free, gpu) for gpu in gpus if (free := _free(gpu, held)) is not None]
    fitting = [(free, gpu) for free, gpu in free_parts if free.shares >= 1 and free.memory >= memory]
    if len(fitting) < count:
        with_memory = f" with {memory} MiB each" if memory else ""
        raise NoDeviceError(
            f"{count} GPU share{'s' if count > 1 else ''}{with_memory} wanted, each on a GPU of its own, but only "
            f"{len(fitting)} of {len(gpus)} on this machine have room"
        )
    fitting.sort(key=lambda entry: (entry[0].shares, entry[0].memory))
    return [Held(gpu.uuid, 1, memory) for _, gpu in fitting[:count]]


@dataclass(frozen=True, slots=True)
class _Free:
    shares: int
    memory: int


def _free(gpu: Gpu, held: Sequence[Held]) -> _Free | None:
    """None for a GPU that is allocated as a whole."""
    parts = [part for part in held if part.uuid == gpu.uuid]
    if any(part.shares == 0 for part in parts):
        return None
    return _Free(SHARES_PER_GPU - sum(part.shares for part in parts), gpu.memory - sum(part.memory for part in parts))


def _gpus(count: int) -> str:
    return "1 GPU" if count == 1 else f"{count} GPUs"


def portion(total: int, claims: Mapping[str, int | None], node: str) -> int:
    """The number of GPUs of a node without a claim: the unclaimed GPUs are divided equally among such nodes."""
    undecided = sorted(name for name, claim in claims.items() if claim is None)
    rest = max(0, total - sum(claim or 0 for claim in claims.values()))
    each, more = divmod(rest, len(undecided))
    return each + (undecided.index(node) < more)
