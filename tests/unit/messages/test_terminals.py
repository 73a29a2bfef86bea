# SPDX-License-Identifier: Apache-2.0
"""Texts of others, which a terminal must not obey."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from springtide.messages import FromOperator, Language, shown, text
from springtide.messages.terminals import harmless


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("\x1b]52;c;cm0gLXJm\x07", "]52;c;cm0gLXJm"),
        ("\x1b[2Jgone", "[2Jgone"),
        ("done\rfail", "donefail"),
        ("a\x9b2Jb\x7f\x00", "a2Jb"),
        ("evil\u202egpj.exe", "evilgpj.exe"),
        ("\u2066a\u2069\u200e\u061c\u2028", "a"),
        ("one\n\ttwo", "one\n\ttwo"),
        ("集群 👩\u200d🔬 é", "集群 👩\u200d🔬 é"),
    ],
)
def test_what_a_terminal_obeys_is_left_out(given: str, expected: str) -> None:
    assert harmless(given) == expected


@given(st.text())
def test_only_newlines_and_tabs_are_left_of_control_characters(given: str) -> None:
    found = harmless(given)
    assert not [each for each in found if (each < " " and each not in "\n\t") or "\x7f" <= each <= "\x9f"]
    assert harmless(found) == found


@pytest.mark.parametrize("value", ["a\x1b[2J", Path("a\x1b[2J"), FromOperator("a\x1b[2J"), text("{b}", b="a\x1b[2J")])
@pytest.mark.parametrize("language", list(Language))
def test_values_of_messages_are_harmless(value: object, language: Language) -> None:
    assert shown(text("{value}", value=value), language) == "a[2J"


def test_numbers_of_messages_keep_their_formats() -> None:
    assert shown(text("{n:.1f}", n=1.25), Language.ENGLISH) == "1.2"
