# SPDX-License-Identifier: Apache-2.0
"""Allreduce, allgather and broadcast of TensorFlow tensors. Names of operations are accepted and ignored."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from springtide.elastic import leaves
from springtide.elastic.groups import Group
from springtide.elastic.horovod import absent, objects, world
from springtide.elastic.horovod.reduction import Scaling, Sum, chosen
from springtide.elastic.horovod.tensorflow import operations
from springtide.elastic.horovod.tensorflow.compression import Compression

__all__ = ["allgather", "allreduce", "broadcast", "broadcast_variables", "grouped_allreduce"]


def allreduce(  # noqa: PLR0913 - Horovod's options
    tensor: Any,
    average: bool | None = None,
    device_dense: str = "",
    device_sparse: str = "",
    compression: Any = Compression.none,
    op: Any = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    name: str | None = None,
    process_set: Any = None,
    ignore_name_scope: bool = False,
) -> Any:
    scales = (prescale_factor, postscale_factor)
    return grouped_allreduce([tensor], average, "", "", compression, op, *scales, process_set)[0]


def grouped_allreduce(  # noqa: PLR0913 - Horovod's options
    tensors: Sequence[Any],
    average: bool | None = None,
    device_dense: str = "",
    device_sparse: str = "",
    compression: Any = Compression.none,
    op: Any = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: Any = None,
    ignore_name_scope: bool = False,
    name: str | None = None,
) -> list[Any]:
    absent.refuse_process_set(process_set)
    scaling = chosen(op, average, prescale_factor, postscale_factor)

    @tf.custom_gradient
    def summed(*given: Any) -> Any:
        def back(*gradients: Any) -> list[Any]:
            return reduced(list(gradients), scaling, compression)

        return reduced(list(given), scaling, compression), back

    if any(isinstance(each, tf.IndexedSlices) for each in tensors):
        return reduced(list(tensors), scaling, compression)
    return list(summed(*[tf.convert_to_tensor(each) for each in tensors]))


def allgather(tensor: Any, name: str | None = None, ignore_name_scope: bool = False, process_set: Any = None) -> Any:
    """Concatenates along the first dimension, in which the tensors may differ."""
    absent.refuse_process_set(process_set)
    given = tf.convert_to_tensor(tensor)

    @tf.custom_gradient
    def gathered(mine: Any) -> Any:
        def back(gradient: Any) -> Any:
            """The gradient of one rank's part is the sum over all ranks."""
            lengths = operations.run(_gather, [tf.shape(mine, tf.int64)[:1]], [[None]])[0]
            start = operations.run(_start, [lengths], [[1]])[0]
            whole = reduced([gradient], chosen(Sum), Compression.none)[0]
            return tf.gather(whole, start[0] + tf.range(tf.shape(mine, tf.int64)[0]))

        return operations.run(_gather, [mine], [[None, *mine.shape[1:]]])[0], back

    return gathered(given if given.shape.rank else tf.reshape(given, [1]))


def broadcast(
    tensor: Any,
    root_rank: int,
    name: str | None = None,
    ignore_name_scope: bool = False,
    process_set: Any = None,
) -> Any:
    absent.refuse_process_set(process_set)

    @tf.custom_gradient
    def copied(mine: Any) -> Any:
        def back(gradient: Any) -> Any:
            """The root's gradient is the sum over all ranks; the others' is zero."""
            whole = reduced([gradient], chosen(Sum), Compression.none)[0]
            return operations.run(lambda arrays: _of_root(arrays, root_rank), [whole], [mine.shape])[0]

        return operations.run(lambda arrays: _from(arrays, root_rank), [mine], [mine.shape])[0], back

    return copied(tf.convert_to_tensor(tensor))


def broadcast_variables(
    variables: Sequence[Any], root_rank: int, process_set: Any = None, inplace: bool = False
) -> None:
    """Always in place."""
    absent.refuse_process_set(process_set)
    values = [tf.convert_to_tensor(each) for each in variables]
    results = operations.run(lambda arrays: _from(arrays, root_rank), values, [each.shape for each in values])
    for variable, value in zip(variables, results, strict=True):
        variable.assign(value)


def reduced(gradients: Sequence[Any], scaling: Scaling, compression: Any, *, dense: bool = False) -> list[Any]:
    """Reduces all gradients in one operation; None stays None."""
    if dense:
        gradients = [tf.convert_to_tensor(each) if isinstance(each, tf.IndexedSlices) else each for each in gradients]
    found = list(gradients)
    sparse = [place for place, each in enumerate(gradients) if isinstance(each, tf.IndexedSlices)]
    whole = [place for place, each in enumerate(gradients) if each is not None and place not in sparse]
    small = [compression.compress(gradients[place]) for place in whole]
    if whole:
        tensors = [each for each, _ in small]
        summed = operations.run(lambda arrays: _summed(arrays, scaling), tensors, [each.shape for each in tensors])
        for place, result, (_, kept) in zip(whole, summed, small, strict=True):
            found[place] = compression.decompress(result, kept)
    for place in sparse:
        found[place] = _gathered(gradients[place], scaling)
    return found


def _gathered(slices: Any, scaling: Scaling) -> Any:
    """Sparse gradients are gathered: the entries of all ranks."""
    size = tf.numpy_function(lambda: np.float64(scaling.divisor(world.group().size)), [], tf.float64)
    values = allgather(slices.values * tf.cast(scaling.before, slices.values.dtype))
    values = values / tf.cast(size, slices.values.dtype)
    return tf.IndexedSlices(values, allgather(slices.indices), slices.dense_shape)


# With NumPy, while an operation runs.


def _summed(arrays: list[Any], scaling: Scaling) -> list[Any]:
    """All arrays of a type at once: few large messages instead of many small ones."""
    group = world.group()
    divisor = scaling.divisor(group.size)
    if group.size == 1 and divisor * scaling.before == 1.0:
        return arrays
    found: list[Any] = list(arrays)
    for places in _by_type(arrays):
        flat = np.concatenate([_addable(arrays[place]).reshape(-1) for place in places])
        if scaling.before != 1.0:
            flat *= scaling.before
        group.allreduce(flat)
        if divisor != 1.0:
            flat = _divided(flat, divisor)
        ends = np.cumsum([arrays[place].size for place in places])[:-1]
        for place, part in zip(places, np.split(flat, ends), strict=True):
            found[place] = part.reshape(arrays[place].shape).astype(arrays[place].dtype, copy=False)
    return found


def _divided(flat: Any, divisor: float) -> Any:
    """Integers stay integers; the division is integral where the divisor is."""
    if flat.dtype.kind in "fc":
        return flat / flat.dtype.type(divisor)
    if divisor == int(divisor):
        return flat // flat.dtype.type(divisor)
    return (flat / divisor).astype(flat.dtype)


def _by_type(arrays: Sequence[Any]) -> list[list[int]]:
    places: dict[Any, list[int]] = {}
    for place, array in enumerate(arrays):
        places.setdefault(array.dtype, []).append(place)
    return list(places.values())


def _addable(array: Any) -> Any:
    """Some of TensorFlow's float types are unknown to NumPy."""
    return array if array.dtype.kind in "fiuc" else array.astype(np.uint8 if array.dtype.kind == "b" else np.float32)


def _gather(arrays: list[Any]) -> list[Any]:
    parts = world.group().allgather(pickle.dumps(arrays[0]))
    return [np.concatenate([pickle.loads(each) for each in parts])]


def _start(arrays: list[Any]) -> list[Any]:
    """The offset of this rank's part."""
    return [arrays[0][: world.group().rank].sum(keepdims=True)]


def _of_root(arrays: list[Any], root: int) -> list[Any]:
    return arrays if world.group().rank == root else [np.zeros_like(each) for each in arrays]


def _from(arrays: list[Any], root: int) -> list[Any]:
    group = world.group()
    world.check_root(root)
    if group.size == 1:
        return arrays
    return [_whole(group, each, root) for each in arrays]


def _whole(group: Group, array: Any, root: int) -> Any:
    if array.dtype.hasobject:  # strings
        return pickle.loads(objects.from_one(group, pickle.dumps(array) if group.rank == root else b"", root))
    whole = np.ascontiguousarray(array).copy()
    group.broadcast(leaves.view(whole), root)
    return whole.reshape(array.shape)
