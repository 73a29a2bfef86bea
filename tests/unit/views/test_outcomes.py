# SPDX-License-Identifier: Apache-2.0
"""How a job has ended for a command that waits for it."""

from __future__ import annotations

from typing import Any

import pytest

from springtide.views.outcomes import Outcome, explanation, outcome


def job(state: str, uid: str = "1", **metadata: Any) -> dict[str, Any]:
    return {"kind": "MPIJob", "metadata": {"name": "a", "uid": uid, **metadata}, "status": {"state": state}}


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (None, Outcome.CANCELLED),
        (job("Running", uid="2"), Outcome.CANCELLED),
        (job("Running", deletionTimestamp="now"), Outcome.CANCELLED),
        (job("Succeeded"), Outcome.SUCCEEDED),
        (job("Failed"), Outcome.FAILED),
        (job("Suspended"), Outcome.NOT_FINISHED),
        (job("Running"), Outcome.NOT_FINISHED),
    ],
)
def test_a_job_that_was_deleted_or_replaced_is_cancelled(now: dict[str, Any] | None, expected: Outcome) -> None:
    assert outcome(now, "1") is expected


def test_jobs_of_other_operators_explain_themselves_by_their_conditions() -> None:
    failed = {"type": "Failed", "status": "True", "message": "it crashed"}
    assert explanation({"status": {"conditions": [failed]}}) == "it crashed"
    assert explanation({"status": {"conditions": [failed], "explanation": "why"}}) == "why"
    assert explanation({}) == ""
