# SPDX-License-Identifier: Apache-2.0
"""State as a tree: plain values in nested mappings and sequences, with arrays as leaves that are copied as bytes.

A tree is split into a skeleton, which is small and may be pickled, and its leaves, which are neither. Arrays that are
more than their bytes, such as masked or sparse ones, stay in the skeleton as plain values. NumPy and PyTorch are
supported if the program has imported them; this module imports neither.
"""

from __future__ import annotations

import copy
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

_PLAIN: Final = frozenset("biufcMmSU")
"""Kinds of NumPy types that their name describes completely."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """The place of an array in a tree, and what is needed to make another one like it."""

    library: str
    type: str
    shape: tuple[int, ...]


def taken_apart(value: Any, made_of: Callable[[Any], Any] | None = None) -> tuple[Any, list[Any]]:
    """The skeleton and the leaves. Plain values stay, or are replaced by `made_of(value)`."""
    leaves: list[Any] = []

    def skeleton(value: Any) -> Any:
        leaf = described(value)
        if leaf is None and made_of is not None and not branches(value):
            value = made_of(value)
            leaf = described(value)
        if leaf is None:
            return mapped(skeleton, value)
        leaves.append(value)
        return leaf

    return skeleton(value), leaves


def put_together(skeleton: Any, leaves: Iterator[Any]) -> Any:
    if isinstance(skeleton, Leaf):
        return next(leaves)
    return mapped(lambda each: put_together(each, leaves), skeleton)


def mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """The same mapping or sequence with `function` applied to its parts; any other value unchanged."""
    kind: Any = type(value)
    if kind is dict:
        return {key: function(each) for key, each in value.items()}
    if isinstance(value, dict):
        found = copy.copy(value)  # keeps the other attributes
        for key, each in value.items():
            found[key] = function(each)
        return found
    if _copies(value):
        return kind({key: function(each) for key, each in value.items()})
    if kind in (list, tuple):
        return kind(function(each) for each in value)
    if named(value):
        return kind._make(function(each) for each in value)
    return value


def branches(value: Any) -> bool:
    """Whether the value is a mapping or sequence that `mapped` descends into."""
    return isinstance(value, dict) or type(value) in (list, tuple) or named(value) or _copies(value)


def _copies(value: Any) -> bool:
    return isinstance(value, Mapping) and hasattr(value, "copy")


def named(value: Any) -> bool:
    """Whether it is a named tuple."""
    return isinstance(value, tuple) and hasattr(value, "_fields") and hasattr(value, "_make")


def found_in(skeleton: Any) -> list[Leaf]:
    """The leaves, in the order in which arrays are taken out and put back."""
    if isinstance(skeleton, Leaf):
        return [skeleton]
    parts: Iterable[Any] = ()
    if isinstance(skeleton, Mapping):
        parts = skeleton.values()
    elif type(skeleton) in (list, tuple) or named(skeleton):
        parts = skeleton
    return [leaf for part in parts for leaf in found_in(part)]


def spelled(skeleton: Any) -> Iterator[str]:
    """A description that is equal for two skeletons exactly if they differ in plain values only."""
    if isinstance(skeleton, Leaf):
        yield f"{skeleton.type}{skeleton.shape}"
    elif isinstance(skeleton, Mapping):
        yield "{"
        for key, each in skeleton.items():
            yield repr(key)
            yield from spelled(each)
        yield "}"
    elif branches(skeleton):
        yield "("
        for each in skeleton:
            yield from spelled(each)
        yield ")"
    else:
        yield "-"


def described(value: Any) -> Leaf | None:
    """The leaf for a dense array; None for any other value."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None and type(value) is numpy.ndarray and value.dtype.kind in _PLAIN:
        return Leaf("numpy", value.dtype.str, value.shape)
    if (
        torch is not None
        and isinstance(value, torch.Tensor)
        and value.layout is torch.strided
        and not value.is_quantized
    ):
        return Leaf("torch", str(value.dtype).removeprefix("torch."), tuple(value.shape))
    return None


def made(leaf: Leaf) -> Any:
    """An uninitialized array of this kind."""
    library = __import__(leaf.library)
    if leaf.library == "torch":
        return library.empty(leaf.shape, dtype=getattr(library, leaf.type))
    return library.empty(leaf.shape, dtype=leaf.type)


def copied(array: Any) -> Any:
    """A copy in main memory."""
    if hasattr(array, "detach"):
        return array.detach().to("cpu", copy=True)
    return array.copy()


def twin(array: Any) -> Any:
    """A contiguous copy whose memory pages are allocated: good to receive into."""
    leaf = described(array)
    assert leaf is not None
    found = made(leaf)
    overwritten(found, array)
    return found


def is_module(value: Any) -> bool:
    """Whether the value is a PyTorch module, which copies what it loads."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module)


def overwritten(array: Any, by: Any) -> None:
    """In place, so that other references to the array see the change."""
    if hasattr(array, "detach"):
        torch = sys.modules["torch"]
        with torch.no_grad():
            array.copy_(by)
    else:
        array[...] = by


def refilled(held: Any, new: Any) -> Any:
    """The new tree, in the arrays, mappings and lists of the old one where they fit, because programs keep references
    to them. What does not fit is replaced by copies."""
    leaf = described(new)
    if leaf is not None:
        if described(held) != leaf or not _writable(held):
            return copied(new)
        overwritten(held, new)
        return held
    if type(held) is type(new) and isinstance(new, dict):
        parts = {key: refilled(held.get(key), each) for key, each in new.items()}
        held.clear()
        held.update(parts)
        return held
    if type(held) is list and type(new) is list:
        held[:] = [refilled(*each) for each in itertools.zip_longest(held[: len(new)], new)]
        return held
    if type(held) is type(new) and isinstance(new, tuple) and len(held) == len(new):
        before = iter(held)
        return mapped(lambda each: refilled(next(before), each), new)
    return mapped(lambda each: refilled(None, each), new)


def _writable(array: Any) -> bool:
    """Elements of an expanded tensor share memory, so it cannot be written."""
    if hasattr(array, "detach"):
        spread = zip(array.stride(), array.shape, strict=True)
        return not array.is_inference() and not any(stride == 0 and length > 1 for stride, length in spread)
    return bool(array.flags.writeable)


def view(array: Any) -> memoryview:
    """The bytes of a contiguous array in main memory."""
    if hasattr(array, "detach"):
        torch = sys.modules["torch"]
        array = array.detach().contiguous().reshape(-1).view(torch.uint8).numpy()
    return memoryview(array.reshape(-1).view("u1")) if array.size else memoryview(b"")


def in_main_memory(array: Any) -> Any:
    """The array, contiguous and in main memory; a copy only if needed."""
    if hasattr(array, "detach"):
        return array.detach().cpu().contiguous()
    numpy = sys.modules["numpy"]
    return numpy.ascontiguousarray(array)


def numbers(array: Any) -> Any:
    """The array as a contiguous NumPy array that can be summed; a copy only if needed."""
    whole = in_main_memory(array)
    if hasattr(whole, "detach"):
        torch = sys.modules["torch"]
        return whole.to(torch.float32 if whole.dtype == torch.bfloat16 else whole.dtype).numpy()
    return whole


def like(array: Any, found: Any) -> Any:
    """The numbers as an array of the type, device and shape of `array`."""
    found = found.reshape(tuple(array.shape))
    if hasattr(array, "detach"):
        torch = sys.modules["torch"]
        return torch.from_numpy(found).to(device=array.device, dtype=array.dtype)
    return found.astype(array.dtype, copy=False)
