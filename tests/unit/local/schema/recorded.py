# SPDX-License-Identifier: Apache-2.0
"""Answers of kube-apiserver 1.36.3, recorded once and compared with ours: see the JSON files in `answers`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from _pytest.mark.structures import ParameterSet

from springtide.api.field_errors import FieldError

_ANSWERS = Path(__file__).with_name("answers")


def answers(name: str) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.json.decode((_ANSWERS / f"{name}.json").read_bytes())
    return document


def cases(name: str, *keys: str) -> list[ParameterSet]:
    """The recorded cases as test parameters, named by the beginning of what was asked."""
    return [
        pytest.param(case, id=f"{number}-{msgspec.json.encode([case[key] for key in keys]).decode()[:60]}")
        for number, case in enumerate(answers(name)["cases"])
    ]


def as_causes(errors: list[FieldError]) -> list[dict[str, str]]:
    """Like the causes of an answer: each once, and in an order of their own, because the real server has none."""
    causes = {(error.field, error.message, error.reason) for error in errors}
    return [{"field": field, "message": message, "reason": reason} for field, message, reason in sorted(causes)]


def in_order(causes: list[dict[str, str]]) -> list[dict[str, str]]:
    return sorted(causes, key=lambda cause: (cause["field"], cause["message"], cause.get("reason", "")))
