# SPDX-License-Identifier: Apache-2.0
"""Which requests leave the event loop."""

from __future__ import annotations

import json

import pytest

from springtide.local.apiserver.worker_thread import LIGHT_BYTES, LIGHT_VALUES, is_heavy


def values(count: int) -> bytes:
    return json.dumps([1] * count, separators=(",", ":")).encode()


@pytest.mark.parametrize(
    ("body", "stored", "heavy"),
    [
        pytest.param(values(LIGHT_VALUES), b"", False, id="few values"),
        pytest.param(values(LIGHT_VALUES + 2), b"", True, id="the smallest body of too many values"),
        pytest.param(values(LIGHT_VALUES // 2), values(LIGHT_VALUES // 2 + 5), True, id="too many with those stored"),
        pytest.param(b'"' + b"x" * LIGHT_BYTES + b'"', b"", True, id="one long value"),
        pytest.param(b'"' + b"x" * (LIGHT_BYTES // 2) + b'"', b"", False, id="one value"),
    ],
)
def test_many_values_and_many_bytes_are_heavy(body: bytes, stored: bytes, heavy: bool) -> None:
    assert is_heavy(body, stored) is heavy
