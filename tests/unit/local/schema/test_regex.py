# SPDX-License-Identifier: Apache-2.0
"""Go's regular expressions mean the same here, and their time and memory are bounded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from springtide.local.schema import regex
from springtide.local.schema.compiled import CompiledSchema
from springtide.local.schema.regex import GoRegexError, TooManyStepsError, compile_go

RECORDED: dict[str, Any] = json.loads((Path(__file__).parent / "recorded_patterns.json").read_text())
SLOW = "(x?){1000}y"


@pytest.mark.parametrize("pattern", RECORDED["patterns"])
def test_a_pattern_is_refused_or_matches_as_by_the_real_server(pattern: str) -> None:
    """`hack/oracle/record_patterns.py` asked it."""
    assert _answer(pattern) == RECORDED["patterns"][pattern]


def _answer(pattern: str) -> str:
    try:
        compiled = compile_go(pattern)
    except GoRegexError as error:
        return str(error)
    return "".join("-+"[compiled.matches(text)] for text in RECORDED["texts"])


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("a(?i)B", "ab", True),
        ("(a(?i)B)C", "abc", False),
        ("^[a&&b]+$", "a&b", True),
        ("^.$", "\ud800", True),
        ("\ud800", "\ufffd", True),
        ("(a+)+$", "a" * 100_000 + "!", False),
        (r"^[\p{L}\p{N} ]{1,253}$", "ä" * 253, True),
    ],
)
def test_a_pattern_matches_as_in_go(pattern: str, text: str, matches: bool) -> None:
    assert compile_go(pattern).matches(text) is matches


def test_a_program_that_is_too_large_is_refused() -> None:
    """Go's own limit is more than 20 times as high."""
    with pytest.raises(GoRegexError, match="error parsing regexp: expression too large: `"):
        compile_go(r"(\pL{1000}){1}(\pL{1000}){1}")


def test_a_large_pattern_is_compiled_once_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[int] = []
    compiled = regex._compile

    def counted(pattern: str, memory: int) -> Any:
        limits.append(memory)
        return compiled(pattern, memory)

    monkeypatch.setattr(regex, "_compile", counted)
    regex.Pattern(r"^[\p{L}\p{N} ]{1,253}$")
    assert limits.count(regex._LARGE) == 1


def test_a_pattern_whose_compilation_takes_too_much_memory_is_refused() -> None:
    """RE2 needs more than 60 MiB for it for a moment, most of it for the wildcards."""
    with pytest.raises(GoRegexError, match="expression too large"):
        compile_go("a." * 50_000)


def test_compiling_many_large_patterns_takes_too_many_steps() -> None:
    with regex.budget(), pytest.raises(TooManyStepsError):
        _compile_many()


def _compile_many() -> None:
    for number in range(1000):
        compile_go(rf"{number}[\pL\pN]{{100}}")


def test_a_search_of_too_many_steps_does_not_begin() -> None:
    with pytest.raises(TooManyStepsError, match="shorten the text or simplify the pattern"):
        compile_go(SLOW).matches("x" * 1_000_000)
    assert not compile_go("a.*b").matches("a" * 1_000_000)


def test_all_searches_of_one_object_share_their_steps() -> None:
    with regex.budget(), pytest.raises(TooManyStepsError):
        _search_often()
    assert not compile_go(SLOW).matches("x" * 2_000)


def _search_often() -> None:
    for _ in range(30):
        compile_go(SLOW).matches("x" * 2_000)


def test_an_object_whose_patterns_take_too_many_steps_is_refused() -> None:
    schema = CompiledSchema({"type": "object", "properties": {"a": {"type": "string", "pattern": SLOW}}})
    [error] = schema.validate({"a": "x" * 1_000_000})
    assert error.field == "a"
    assert "a in body cannot be matched with '(x?){1000}y', which takes more than 100000000 steps" in error.message


def test_findall_stops_at_its_limit() -> None:
    assert compile_go("a.").findall("abacad", 2) == ["ab", "ac"]
    assert compile_go("a.").findall("abacad", 0) == []
    assert compile_go("a.").findall("abacad") == ["ab", "ac", "ad"]
    assert compile_go("é").findall("éaé") == ["é", "é"]


def test_compiled_patterns_together_keep_bounded_memory() -> None:
    for number in range(200):
        compile_go(f"a{number}")
    assert sum(pattern.memory for pattern in regex._compiled.values()) <= regex.CACHE_MEMORY
    assert "a199" in regex._compiled
