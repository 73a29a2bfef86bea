# SPDX-License-Identifier: Apache-2.0
"""Sums and means among two ranks, one of which is imagined."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from springtide.elastic import allreduce, context


class Twins:
    """What the other rank adds is twice what this one does."""

    rank, size = 0, 2

    def allreduce(self, array: Any) -> None:
        array *= 3


@pytest.fixture(autouse=True)
def twins(monkeypatch: pytest.MonkeyPatch) -> None:
    now = SimpleNamespace(group=Twins())
    monkeypatch.setattr(context, "current", lambda: now)


def test_numbers_are_summed_wherever_they_stand() -> None:
    tree = {"loss": 0.5, "right": [3, np.float32(2)], "gradient": np.ones((2, 1), dtype="float32")}
    summed = allreduce(tree, average=False)
    assert (float(summed["loss"]), [float(each) for each in summed["right"]]) == (1.5, [9.0, 6.0])
    assert (summed["gradient"].dtype, summed["gradient"].tolist()) == (np.float32, [[3.0], [3.0]])
    assert float(allreduce(2, average=False)) == 6.0


def test_means_are_weighted() -> None:
    assert allreduce(np.array([4.0]), weight=10).tolist() == [4.0]


def test_ranks_without_samples_make_nothing_of_nothing() -> None:
    assert allreduce(np.ones(2), weight=0).tolist() == [0.0, 0.0]
