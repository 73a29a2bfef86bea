# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from springtide.elastic import report
from springtide.elastic.protocol import wire
from springtide.elastic.protocol.rank_messages import FROM_RANK, FromRank
from springtide.elastic.ranks import context, reporting
from springtide.elastic.ranks.reporting import Rate, plain


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What rank 0 tells the launcher, as it is read there."""
    heard: list[dict[str, Any]] = []

    def send(message: FromRank) -> None:
        (frame,) = wire.decode(bytearray(FROM_RANK.encode(message)))
        heard.append(dict(frame.head))

    now = SimpleNamespace(session=SimpleNamespace(send=send), rank=0)
    monkeypatch.setattr(context, "current", lambda: now)
    monkeypatch.setattr(reporting, "_rate", Rate())
    return heard


def test_step_and_loss_reach_the_launcher_as_plain_numbers(said: list[dict[str, Any]]) -> None:
    report(step=3, loss=np.float32(0.5))
    report(step=4, loss=np.array([0.25]))
    assert said == [{"type": "progress", "step": 3, "loss": 0.5}, {"type": "progress", "step": 4, "loss": 0.25}]


def test_a_loss_that_is_no_number_any_more_is_null(said: list[dict[str, Any]]) -> None:
    report(step=1, loss=float("nan"))
    assert said == [{"type": "progress", "step": 1, "loss": None}]
    assert json.dumps([plain(np.float64("inf"))]) == "[null]"


def test_only_rank_0_speaks(said: list[dict[str, Any]]) -> None:
    context.current().__dict__["rank"] = 1
    report(step=1)
    assert said == []


def test_without_a_launcher_nobody_listens() -> None:
    report(step=1, loss=0.5, samples=10)


def test_throughput_is_taken_over_a_second_at_least() -> None:
    rate = Rate()
    told = [rate.counted(100, now) for now in (0.0, 0.4, 0.8, 1.25, 1.5, 2.25)]
    assert told == [None, None, None, 240.0, 240.0, 200.0]


def test_throughput_is_told_in_the_name_of_the_launcher(
    said: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([10.0, 12.0])
    monkeypatch.setattr(reporting, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    report(step=1, samples=64)
    report(step=2, samples=64)
    assert said == [{"type": "progress", "step": 1}, {"type": "progress", "step": 2, "samples_per_second": 32.0}]
