# SPDX-License-Identifier: Apache-2.0
"""State as a tree: plain values in nested mappings and sequences, with arrays as leaves that are copied as bytes.

A tree is taken apart into a skeleton, which is small and may be pickled, and its leaves, which are neither. NumPy and
PyTorch are known if the program has imported them; nothing here imports either.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Leaf:
    """Where an array was, and what it takes to make another one like it."""

    library: str
    type: str
    shape: tuple[int, ...]


def taken_apart(value: Any) -> tuple[Any, list[Any]]:
    leaves: list[Any] = []
    return _skeleton(value, leaves), leaves


def _skeleton(value: Any, leaves: list[Any]) -> Any:
    leaf = described(value)
    if leaf is not None:
        leaves.append(value)
        return leaf
    if type(value) is dict:
        return {key: _skeleton(each, leaves) for key, each in value.items()}
    if isinstance(value, Mapping) and hasattr(value, "copy"):
        kind: Any = type(value)
        return kind({key: _skeleton(each, leaves) for key, each in value.items()})
    if type(value) in (list, tuple):
        return type(value)(_skeleton(each, leaves) for each in value)
    return value


def put_together(skeleton: Any, leaves: Iterator[Any]) -> Any:
    if isinstance(skeleton, Leaf):
        return next(leaves)
    if isinstance(skeleton, Mapping):
        kind: Any = type(skeleton)
        return kind({key: put_together(each, leaves) for key, each in skeleton.items()})
    if type(skeleton) in (list, tuple):
        return type(skeleton)(put_together(each, leaves) for each in skeleton)
    return skeleton


def found_in(skeleton: Any) -> list[Leaf]:
    """In the order in which their arrays are taken out and put back."""
    if isinstance(skeleton, Leaf):
        return [skeleton]
    parts: Iterable[Any] = ()
    if isinstance(skeleton, Mapping):
        parts = skeleton.values()
    elif type(skeleton) in (list, tuple):
        parts = skeleton
    return [leaf for part in parts for leaf in found_in(part)]


def described(value: Any) -> Leaf | None:
    """None for what is no array."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None and isinstance(value, numpy.ndarray) and not value.dtype.hasobject:
        return Leaf("numpy", value.dtype.str, value.shape)
    if torch is not None and isinstance(value, torch.Tensor):
        return Leaf("torch", str(value.dtype).removeprefix("torch."), tuple(value.shape))
    return None


def made(leaf: Leaf) -> Any:
    """An array of this kind, with whatever happens to be in it."""
    library = __import__(leaf.library)
    if leaf.library == "torch":
        return library.empty(leaf.shape, dtype=getattr(library, leaf.type))
    return library.empty(leaf.shape, dtype=leaf.type)


def copied(array: Any) -> Any:
    """To memory of our own, wherever it was."""
    if hasattr(array, "detach"):
        return array.detach().to("cpu", copy=True)
    return array.copy()


def twin(array: Any) -> Any:
    """Contiguous memory of our own that has been written to: good to receive into."""
    leaf = described(array)
    assert leaf is not None
    found = made(leaf)
    overwritten(found, array)
    return found


def is_module(value: Any) -> bool:
    """Whether it is one of PyTorch's, which copy what they load."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module)


def overwritten(array: Any, by: Any) -> None:
    """In place, so that whoever holds the array sees it change."""
    if hasattr(array, "detach"):
        torch = sys.modules["torch"]
        with torch.no_grad():
            array.copy_(by)
    else:
        array[...] = by


def view(array: Any) -> memoryview:
    """The bytes of a contiguous array in main memory."""
    if hasattr(array, "detach"):
        torch = sys.modules["torch"]
        array = array.detach().contiguous().reshape(-1).view(torch.uint8).numpy()
    return memoryview(array.reshape(-1)).cast("B") if array.size else memoryview(b"")


def in_main_memory(array: Any) -> Any:
    """Contiguous, and where its bytes can be read; a copy only where it takes one."""
    if hasattr(array, "detach"):
        return array.detach().cpu().contiguous()
    numpy = sys.modules["numpy"]
    return numpy.ascontiguousarray(array)


def numbers(array: Any) -> Any:
    """As NumPy has them, which adds them up: a contiguous array in main memory, a copy only where it takes one."""
    whole = in_main_memory(array)
    if hasattr(whole, "detach"):
        torch = sys.modules["torch"]
        return whole.to(torch.float32 if whole.dtype == torch.bfloat16 else whole.dtype).numpy()
    return whole


def like(array: Any, found: Any) -> Any:
    """Numbers as another array of the kind and shape they came from."""
    found = found.reshape(tuple(array.shape))
    if hasattr(array, "detach"):
        torch = sys.modules["torch"]
        return torch.from_numpy(found).to(device=array.device, dtype=array.dtype)
    return found.astype(array.dtype, copy=False)
