# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from springtide.local.kubelet.specs import expansion

KNOWN = {"VAR_A": "A", "VAR_B": "B", "VAR_C": "C", "VAR_REF": "$(VAR_A)", "VAR_EMPTY": ""}


# The table is that of Kubernetes' own expansion tests.
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(VAR_A)", "A"),
        ("___$(VAR_B)___", "___B___"),
        ("$(VAR_A)$(VAR_A)", "AA"),
        ("$(VAR_REF)", "$(VAR_A)"),
        ("%%$(VAR_REF)--$(VAR_REF)%%", "%%$(VAR_A)--$(VAR_A)%%"),
        ("foo$(VAR_EMPTY)bar", "foobar"),
        ("foo\\$(VAR_A)bar", "foo\\Abar"),
        ("foo\\\\$(VAR_A)bar", "foo\\\\Abar"),
        ("foo$$$$(VAR_B)bar", "foo$$(VAR_B)bar"),
        ("$$$$$(VAR_A)", "$$A"),
        ("$$$$$$(VAR_A)", "$$$(VAR_A)"),
        ("$$$$$$$(VAR_A)", "$$$A"),
        ("$VAR_A)", "$VAR_A)"),
        ("${VAR_A}", "${VAR_A}"),
        ("$(VAR_DNE)", "$(VAR_DNE)"),
        ("$$(VAR_A)", "$(VAR_A)"),
        ("$(VAR_A", "$(VAR_A"),
        ("foo$$", "foo$"),
        ("foo$", "foo$"),
        ("$()", "$()"),
        ("/bin/sh -c 'echo $?'", "/bin/sh -c 'echo $?'"),
    ],
)
def test_references_are_expanded(text: str, expected: str) -> None:
    assert expansion.expand(text, KNOWN) == expected


def test_the_first_mapping_that_knows_a_name_decides() -> None:
    assert expansion.expand("$(A)$(B)", {"A": "1"}, {"A": "2", "B": "3"}) == "13"


def test_command_and_args_become_one_argv() -> None:
    assert expansion.argv(["python"], ["-m", "train", "--rank=$(RANK)"], {"RANK": "0"}) == (
        "python",
        "-m",
        "train",
        "--rank=0",
    )


def test_unknown_references_are_named() -> None:
    assert expansion.unknown_references("$(A)/$(B)/$$(C)", {"A": "x"}) == ["B"]


def test_references_that_are_never_closed_are_read_once() -> None:
    text = "$(" * 500_000
    assert expansion.expand(text, {}) == text
    assert expansion.expand(text + ")$$$", {}) == text + ")$$"
    assert expansion.unknown_references(text, {}) == []


def test_a_text_that_would_grow_beyond_measure_is_not_made() -> None:
    value = "x" * 1000
    assert len(expansion.expand("$(A)" * 2000, {"A": value})) == 2_000_000
    with pytest.raises(expansion.TooLongError, match="more than 2097152 characters"):
        expansion.expand("$(A)" * 1_000_000, {"A": value})
    with pytest.raises(expansion.TooLongError):
        expansion.argv(["run", *["$(A)"] * 1_000_000], [], {"A": value})
    with pytest.raises(expansion.TooLongError):
        expansion.argv(["$(A)"], ["$(A)"] * 10, {"A": "x" * 1_000_000})
