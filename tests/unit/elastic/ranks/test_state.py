# SPDX-License-Identifier: Apache-2.0
"""State in a group of one: what is kept, given back and found again. Among several: tests/integration/elastic."""

from __future__ import annotations

import pickle
from collections import OrderedDict, defaultdict
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from springtide.elastic import Sampler, State, leaves, run
from springtide.elastic.ranks import context
from springtide.elastic.ranks.context import Context
from springtide.elastic.ranks.session import Entry


class Model:
    """As frameworks have them."""

    def __init__(self) -> None:
        self.weights: dict[str, Any] = {"w": np.zeros(3), "steps": 0}

    def state_dict(self) -> dict[str, Any]:
        return self.weights

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.weights = state


def test_values_are_read_and_changed_by_their_names() -> None:
    state = State(step=1)
    state.step += 1
    assert state.step == 2
    with pytest.raises(AttributeError, match="no value 'loss'"):
        _ = state.loss


def test_it_goes_back_to_its_last_commit() -> None:
    weights: dict[str, Any] = {"a": np.ones(2), "b": [np.zeros(1), "word"]}
    model = Model()
    state = State(weights=weights, model=model, sampler=Sampler(10, 2), step=0, log=[1])
    state.step, weights["a"][0], model.weights["w"][1] = 5, 7.0, 8.0
    state.log.append(2)
    next(iter(state.sampler))
    state.commit()
    state.step, weights["a"][0], model.weights["w"][1], model.weights["steps"] = 6, 0.0, 0.0, 9
    state.log.append(3)
    next(iter(state.sampler))
    state.restore()
    assert (state.step, state.log, state.sampler.consumed, model.weights["steps"]) == (5, [1, 2], 2, 0)
    assert weights["a"].tolist() == [7.0, 1.0], "arrays are changed in place: programs hold on to them"
    assert model.weights["w"].tolist() == [0.0, 8.0, 0.0]


def test_what_was_kept_does_not_change_with_what_goes_on() -> None:
    state = State(weights=np.zeros(2))
    state.commit()
    for _ in range(2):
        state.weights += 1
        state.restore()
        assert state.weights.tolist() == [0.0, 0.0]


def test_a_run_that_nobody_survived_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    state = State(checkpoint=tmp_path / "run", every=2, weights=np.zeros(4, dtype="float32"), step=0)
    for _ in range(5):
        state.step += 1
        state.weights += 1
        state.commit()
    later = State(checkpoint=tmp_path / "run", weights=np.zeros(4, dtype="float32"), step=0)
    later.begin()
    assert (later.step, later.weights.tolist()) == (4, [4.0] * 4)
    assert len(list((tmp_path / "run").iterdir())) == 2


def test_a_run_that_was_resumed_leaves_newer_checkpoints(tmp_path: Path) -> None:
    for begins in (0, 3, 6):
        state = State(checkpoint=tmp_path, step=0)
        state.begin()
        assert state.step == begins
        for _ in range(3):
            state.step += 1
            state.commit()


def test_a_run_that_is_resumed_with_another_size_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = Context(None)
    monkeypatch.setattr(context, "current", lambda: now)
    state = State(checkpoint=tmp_path, rate=0.4)
    monkeypatch.setattr(Context, "size", 4)
    state.commit()
    monkeypatch.setattr(Context, "size", 1)
    told: list[tuple[int, int]] = []
    now.on_resize.append(lambda old, new: told.append((old, new)))
    later = State(checkpoint=tmp_path, rate=0.1)
    later.begin()
    assert (later.rate, told) == (0.4, [(4, 1)])


@pytest.mark.parametrize(
    ("generation", "kept", "told"),
    [(1, False, ""), (1, True, "from the beginning"), (2, False, "starts over"), (2, True, "starts over")],
)
def test_a_run_that_nobody_survived_says_that_it_starts_over(
    generation: int,
    kept: bool,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    now: Any = Context(None)
    entry = Entry(generation, (), source=0, graceful=False, fresh=True)
    now.session = SimpleNamespace(boundary=0, send=lambda _: None, begin=lambda: entry)
    monkeypatch.setattr(Context, "enter", lambda *_: None)
    monkeypatch.setattr(context, "current", lambda: now)
    State(checkpoint=tmp_path if kept else None, step=0).begin()
    assert told in caplog.text
    assert bool(caplog.text) is bool(told)


def test_a_second_run_goes_on_from_the_first_and_not_from_its_checkpoint(tmp_path: Path) -> None:
    @run
    def train(state: State, steps: int) -> None:
        for _ in range(steps):
            state.step += 1
            state.commit()

    state = State(checkpoint=tmp_path, every=10, step=0)
    train(state, 15)
    train(state, 6)
    assert state.step == 21
    assert sorted(each.name for each in tmp_path.iterdir()) == ["commit-000000000010", "commit-000000000020"]


def test_without_a_checkpoint_it_begins_as_it_was_made(tmp_path: Path) -> None:
    state = State(checkpoint=tmp_path, step=3)
    state.begin()
    assert state.step == 3


def test_trees_are_put_together_as_they_were() -> None:
    tree: dict[str, Any] = {
        "a": [np.arange(3), (1, np.zeros((2, 2), dtype="int8"))],
        "b": "words",
        "empty": np.zeros(0),
    }
    skeleton, arrays = leaves.taken_apart(tree)
    assert [leaf.shape for leaf in leaves.found_in(skeleton)] == [(3,), (2, 2), (0,)]
    again = leaves.put_together(skeleton, iter(arrays))
    assert again["a"][1][0] == 1
    assert again["a"][0] is tree["a"][0]


class Pair(NamedTuple):
    weights: Any
    steps: int


@dataclass
class Record:
    weights: Any


def test_arrays_are_filled_in_place_whatever_stands_beside_them() -> None:
    tree: dict[str, Any] = {"w": np.zeros(2), "step": 3, "pair": Pair(np.zeros(1), 1), "list": [np.zeros(1), "word"]}
    state = State(tree=tree)
    state.commit()
    held = tree["w"], tree["pair"].weights, tree["list"][0]
    for each in held:
        each += 1
    tree["step"], tree["list"][1], tree["late"] = 4, "another", 1
    state.restore()
    assert state.tree is tree
    assert (tree["step"], tree["list"][1], "late" in tree) == (3, "word", False)
    assert [each.sum() for each in held] == [0.0, 0.0, 0.0]
    assert tree["w"] is held[0]
    assert tree["pair"].weights is held[1]


def test_arrays_inside_other_things_come_back_too() -> None:
    state = State(tree={"w": np.zeros(1), "record": Record(np.zeros(1)), "things": np.array([1, None], dtype=object)})
    state.commit()
    state.tree["record"].weights += 1
    state.restore()
    assert state.tree["record"].weights.tolist() == [0.0]
    assert state.tree["things"].tolist() == [1, None]


def test_arrays_that_cannot_be_written_are_replaced() -> None:
    fixed = np.arange(3.0)
    fixed.flags.writeable = False
    state = State(fixed=fixed)
    state.commit()
    state.restore()
    assert state.fixed.tolist() == [0.0, 1.0, 2.0]


def test_arrays_that_have_another_shape_are_replaced() -> None:
    state = State(tree=[np.zeros(2), np.zeros(1)])
    state.commit()
    state.tree[0] = np.ones(5)
    state.tree.append(np.ones(1))
    state.restore()
    assert [each.tolist() for each in state.tree] == [[0.0, 0.0], [0.0]]
    state.tree[0] += 1
    state.restore()
    assert state.tree[0].tolist() == [0.0, 0.0], "what was kept is nobody else's"


KINDS: dict[str, Any] = {
    "structured": np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
    "masked": np.ma.array([1, 2], mask=[False, True]),
    "dates": np.array(["2020-01-01"], dtype="M8[D]"),
    "words": np.array(["abc", "d"]),
    "big endian": np.array([1.0, 2.0], dtype=">f8"),
    "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "empty": np.zeros((0, 3)),
    "scalar": np.array(3.0),
    "defaultdict": defaultdict(list, {"a": np.zeros(2)}),
    "ordered": OrderedDict(b=np.zeros(2), a=1),
    "named": Pair(np.zeros(2), 1),
}


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_is_kept_comes_back_as_it_was(kind: str, tmp_path: Path) -> None:
    value = KINDS[kind]
    before = repr(value), type(value), getattr(value, "dtype", None)
    state = State(checkpoint=tmp_path, value=value)
    state.commit()
    state.restore()
    later = State(checkpoint=tmp_path, value=None)
    later.begin()
    for found in (state.value, later.value):
        assert (repr(found), type(found), getattr(found, "dtype", None)) == before


def test_values_whose_names_are_taken_are_refused() -> None:
    for name in ("newest", "commit", "begin", "_x"):
        with pytest.raises(ValueError, match=f"cannot be called '{name}'"):
            State(**{name: Any})  # type: ignore[arg-type]
    state = State(step=1)
    with pytest.raises(ValueError, match="cannot be called 'restore'"):
        state.restore = 3  # type: ignore[method-assign,assignment]
    del state.step
    with pytest.raises(AttributeError, match="no value 'step'"):
        del state.step


def test_values_that_cannot_be_handed_on_are_refused() -> None:
    with pytest.raises(TypeError, match="value 'word' of a state cannot be kept"):
        State(step=1, word=lambda: "word")


def test_what_an_earlier_version_wrote_is_read() -> None:
    """On disk, or sent by ranks of a run that goes on while Springtide is replaced."""
    written = (
        b"\x80\x04\x95]\x00\x00\x00\x00\x00\x00\x00K\x03K\x02}\x94(\x8c\x07weights\x94\x8c\x19springtide.elastic.leaves"
        b"\x94\x8c\x04Leaf\x94\x93\x94)\x81\x94]\x94(\x8c\x05numpy\x94\x8c\x03<f8\x94K\x04\x85\x94eb\x8c\x04step\x94K\x05u\x87\x94."
    )
    assert pickle.loads(written) == (3, 2, {"weights": leaves.Leaf("numpy", "<f8", (4,)), "step": 5})
    assert leaves.Leaf.__module__ == "springtide.elastic.leaves"  # what earlier versions look for
