# SPDX-License-Identifier: Apache-2.0
"""Go's regular expressions mean the same here."""

from __future__ import annotations

import pytest

from springtide.local.schema.regex import GoRegexError, compile_go


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("^a$", "a\n", False),
        ("(?m)^a$", "a\nb", True),
        (r"\Aa\z", "a", True),
        ("b", "abc", True),
        ("a(?i)B", "ab", True),
        ("(a(?i)B)C", "abc", False),
        ("[[:alpha:]]+$", "abc1", False),
        ("^[[:digit:]x]+$", "1x2", True),
        ("^[]a]+$", "]a", True),
        ("^[^]]$", "]", False),
        (r"^\d+$", "٣", False),
        (r"^\pL+$", "é", True),
        (r"^\Qa.b\E$", "a.b", True),
        (r"^\Qa.b\E$", "axb", False),
        ("(?P<name>a)", "a", True),
        ("(?<name>a)", "a", True),
        ("a{2,3}?$", "aaa", True),
        (r"\p{Greek}", "x", True),
        ("^[a&&b]+$", "a&b", True),
    ],
)
def test_a_pattern_matches_as_in_go(pattern: str, text: str, matches: bool) -> None:
    assert (compile_go(pattern).search(text) is not None) is matches


@pytest.mark.parametrize(
    ("pattern", "complaint"),
    [
        ("(", "missing closing ): `(`"),
        ("a)", "unexpected ): `a)`"),
        ("[a", "missing closing ]: `[a`"),
        ("*", "missing argument to repetition operator: `*`"),
        ("a(?=b)", "invalid or unsupported Perl syntax: `(?=`"),
        (r"\1", r"invalid escape sequence: `\1`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
    ],
)
def test_what_go_does_not_compile_is_refused_in_its_words(pattern: str, complaint: str) -> None:
    with pytest.raises(GoRegexError) as refused:
        compile_go(pattern)
    assert str(refused.value) == f"error parsing regexp: {complaint}"
