# SPDX-License-Identifier: Apache-2.0
"""Every message of the source has a Chinese translation with the same values."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

import springtide
from springtide.messages.zh import TRANSLATIONS

SOURCE = Path(springtide.__file__).parent
_HAN = re.compile("[\u4e00-\u9fff]")


def calls() -> Iterator[tuple[str, list[str]]]:
    """`file:line` and templates of every call of `text`."""
    for file in sorted(SOURCE.rglob("*.py")):
        written = file.read_text()
        if "springtide.messages" not in written and "from springtide import messages" not in written:
            continue
        module = ast.parse(written)
        constants = dict(_constants(module))
        for node in ast.walk(module):
            if isinstance(node, ast.Call) and _is_text(node.func) and node.args:
                yield f"{file.relative_to(SOURCE)}:{node.lineno}", literals(node.args[0], constants)


def _constants(module: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in module.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            yield node.target.id, node.value


def literals(given: ast.expr, constants: dict[str, ast.expr]) -> list[str]:
    """Of `"..."`, of `"..." if ... else "..."` and of a constant of the module."""
    if isinstance(given, ast.IfExp):
        return [*literals(given.body, constants), *literals(given.orelse, constants)]
    if isinstance(given, ast.Name) and given.id in constants:
        return literals(constants[given.id], {})
    return [given.value] if isinstance(given, ast.Constant) and isinstance(given.value, str) else []


def _is_text(called: ast.expr) -> bool:
    return (isinstance(called, ast.Name) and called.id == "text") or (
        isinstance(called, ast.Attribute) and called.attr == "text" and getattr(called.value, "id", "") == "messages"
    )


def fields(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


def has_words(template: str) -> bool:
    return re.search("[A-Za-z]", re.sub(r"\{\w+(![rs])?(:[^{}]*)?\}", "", template)) is not None


CALLS = list(calls())
FOUND = {template: where for where, found in CALLS for template in found if has_words(template)}


def test_there_are_messages() -> None:
    assert "There is no cluster to use." in FOUND


def test_messages_are_literals_by_which_they_are_translated() -> None:
    assert [where for where, found in CALLS if not found] == []


@pytest.mark.parametrize("template", sorted(FOUND))
def test_every_message_has_a_translation_with_the_same_values(template: str) -> None:
    assert template in TRANSLATIONS, f"{FOUND[template]}: no Chinese for {template!r}"
    assert fields(TRANSLATIONS[template]) == fields(template), FOUND[template]


@pytest.mark.parametrize("template", sorted(filter(has_words, TRANSLATIONS)))
def test_translations_are_chinese_and_of_messages_that_exist(template: str) -> None:
    assert _HAN.search(TRANSLATIONS[template]) or not has_words(TRANSLATIONS[template]), (
        f"not Chinese: {TRANSLATIONS[template]!r}"
    )
    assert template in FOUND, f"no message has this template any more: {template!r}"
