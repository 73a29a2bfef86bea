# SPDX-License-Identifier: Apache-2.0
"""Runs Python functions as TensorFlow operations, eager or in a graph, and restores their exceptions.

A graph is traced once and runs in many generations, so the group is looked up when an operation runs. Operations are
stateful, so that those of one step run in program order, which is the same on all ranks. An exception inside surfaces
as an error of TensorFlow; the original is kept here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

from springtide.elastic.groups import BrokenError

Function = Callable[[list[Any]], list[Any]]
"""Takes NumPy arrays and returns as many of the same types."""


class _Remembered:
    failure: BrokenError | None = None


_remembered = _Remembered()


def run(function: Function, tensors: Sequence[Any], shapes: Sequence[Any]) -> list[Any]:
    """One operation for all tensors. `shapes` are the results' shapes, as far as known."""
    if tf.executing_eagerly():
        return [tf.convert_to_tensor(each) for each in function([tensor.numpy() for tensor in tensors])]

    def guarded(*arrays: Any) -> list[Any]:
        try:
            return function(list(arrays))
        except BrokenError as error:
            _remembered.failure = error
            raise BrokenError(str(error)) from None  # without its cause, as TensorFlow prints the whole chain

    found = tf.numpy_function(guarded, list(tensors), [tensor.dtype for tensor in tensors], stateful=True)
    for result, shape in zip(found, shapes, strict=True):
        result.set_shape(shape)
    return list(found)


@contextmanager
def translated() -> Iterator[None]:
    """Raises the exception that was raised inside an operation."""
    _remembered.failure = None
    try:
        yield
    except tf.errors.OpError as error:
        if _remembered.failure is None:
            raise
        raise _remembered.failure from error
