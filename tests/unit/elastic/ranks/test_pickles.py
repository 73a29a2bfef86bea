# SPDX-License-Identifier: Apache-2.0
"""What earlier versions pickled is read, and what this one pickles says nothing of where its classes are."""

from __future__ import annotations

import pickle
import pickletools
from pathlib import Path
from typing import Any

import pytest

from springtide.elastic import BrokenError, Sampler, State
from springtide.elastic.ranks import checkpoints, pickles
from springtide.elastic.ranks.orders import Order

OLD = (
    b"\x80\x04\x95\xa9\x00\x00\x00\x00\x00\x00\x00K\x03K\x02}\x94\x8c\x04both\x94]\x94\x8c\x1bspringtide.elastic.samplers"
    b"\x94\x8c\x07Sampler\x94\x93\x94)\x81\x94}\x94(\x8c\x06length\x94Kd\x8c\x05batch\x94K\n\x8c\x07shuffle\x94\x88\x8c\x04"
    b"seed\x94K\x00\x8c\x05epoch\x94K\x01\x8c\x08consumed\x94K\x14\x8c\n_under_way\x94K\x00\x8c\x06_ahead\x94\x89\x8c\x06"
    b"_asked\x94\x89ubas\x87\x94."
)
"""The words of a checkpoint of State(both=[Sampler(100, 10)]), before samplers moved."""


class Settings:
    rate = 0.1


def test_a_checkpoint_from_before_samplers_moved_is_read(tmp_path: Path) -> None:
    checkpoints.Checkpoints(tmp_path, 1).keep(3, OLD, [])
    state = State(checkpoint=tmp_path, both=[Sampler(100, 10)])
    state.begin()
    assert (state.both[0].epoch, state.both[0].consumed) == (1, 20)
    assert type(state.both[0]) is Sampler
    assert len(next(iter(state.both[0]))) == 10


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (f"springtide.elastic.{module}", kind)
        for module, kind in {
            "samplers": Sampler,
            "rank.samplers": Sampler,
            "orders": Order,
            "rank.orders": Order,
        }.items()
    ],
)
def test_classes_are_found_where_they_are_now(path: str, kind: type) -> None:
    assert pickles.loads(f"c{path}\n{kind.__name__}\n.".encode()) is kind


@pytest.mark.parametrize("value", [Sampler(10, 2), BrokenError("gone")], ids=["Sampler", "BrokenError"])
def test_what_is_pickled_now_names_modules_that_stay(value: Any) -> None:
    words = {text for _, text, _ in pickletools.genops(pickle.dumps(value)) if str(text).startswith("springtide")}
    assert words <= {"springtide.elastic", "springtide.elastic.groups"}
    assert type(pickles.loads(pickle.dumps(value))) is type(value)


def test_a_class_that_is_gone_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    State(checkpoint=tmp_path, settings=[Settings()]).commit()
    monkeypatch.delattr(f"{__name__}.Settings")
    with pytest.raises(
        pickle.UnpicklingError, match=r"of .*\.Settings, which cannot be found here: .*another checkpoint"
    ):
        State(checkpoint=tmp_path, settings=None).begin()
    with pytest.raises(pickle.UnpicklingError, match=r"of no_such_module\.Kind, which cannot be found here: No module"):
        pickles.loads(b"cno_such_module\nKind\n.")
