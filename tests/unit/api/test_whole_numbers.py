# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from springtide.api import whole_numbers

LARGEST = 2**63 - 1


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("7", 7),
        ("-7", -7),
        ("+7", 7),
        ("0" * 5000 + "7", 7),
        (str(LARGEST), LARGEST),
        (str(-LARGEST - 1), -LARGEST - 1),
        (str(LARGEST + 1), None),
        ("9" * 5000, None),
        ("", None),
        ("-", None),
        ("1_0", None),
        ("٣", None),
        ("+-1", None),
    ],
)
def test_a_number_is_read_as_go_reads_it(text: str, number: int | None) -> None:
    assert whole_numbers.parse(text) == number


@pytest.mark.parametrize(
    ("text", "number"), [("9" * 5000, LARGEST), ("-" + "9" * 5000, -LARGEST - 1), ("12", 12), ("x", None), ("", None)]
)
def test_a_number_out_of_range_is_clamped(text: str, number: int | None) -> None:
    assert whole_numbers.clamped(text) == number
