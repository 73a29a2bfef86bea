# SPDX-License-Identifier: Apache-2.0
"""Horovod's `hvd.elastic` for TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

from springtide.elastic.horovod import running
from springtide.elastic.horovod.states import HostsUpdatedInterrupt, ObjectState, State
from springtide.elastic.horovod.tensorflow.operations import translated

__all__ = ["HostsUpdatedInterrupt", "ObjectState", "State", "TensorFlowKerasState", "TensorFlowState", "run"]

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound=State)


def run(function: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    return running.run(function, translated)


class Variables:
    """Saves and restores the values of variables, in order."""

    def __init__(self, found: Callable[[], Sequence[Any]]) -> None:
        self._found = found

    def state_dict(self) -> dict[int, Any]:
        return {place: variable.numpy() for place, variable in enumerate(self._found())}

    def load_state_dict(self, values: Mapping[int, Any]) -> None:
        variables = self._found()
        if len(variables) != len(values):
            raise ValueError(
                f"there are {len(variables)} variables here and {len(values)} on another rank: "
                "build the model and the optimizer before training begins"
            )
        for place, variable in enumerate(variables):
            variable.assign(values[place])


class _VariablesState(State):
    def __init__(self, keepers: Mapping[str, Variables], **values: Any) -> None:
        super().__init__(**values)
        self._keepers = dict(keepers)

    def _keeper(self, name: str) -> Any:
        return self._keepers.get(name) or super()._keeper(name)


class TensorFlowKerasState(_VariablesState):
    """A model, its optimizer and plain values."""

    def __init__(self, model: Any, optimizer: Any = None, backend: Any = None, **values: Any) -> None:
        if not model.built:
            raise ValueError("the model must be built first: model.build(input_shape), or one step of training")
        optimizer = optimizer if optimizer is not None else model.optimizer
        if optimizer is None:
            raise ValueError("the state needs an optimizer: compile the model first, or give optimizer=")
        if not optimizer.built:  # a new member must have as many variables as the others
            optimizer.build(model.trainable_variables)
        keepers = {"model": Variables(lambda: model.variables), "optimizer": Variables(lambda: optimizer.variables)}
        super().__init__(keepers, model=model, optimizer=optimizer, **values)


class TensorFlowState(_VariablesState):
    """Variables and plain values."""

    def __init__(self, variables: Sequence[Any], session: Any = None, **values: Any) -> None:
        held = list(variables)
        super().__init__({"variables": Variables(lambda: held)}, variables=held, **values)
