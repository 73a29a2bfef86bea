# SPDX-License-Identifier: Apache-2.0
"""What the operator records, as its own tests expect it: the explanations that they compare with literals."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

_TESTS = Path(__file__).parents[1] / "jobs"
_NAMES = ("explanation", "message")
_WORDS = 3
"""Shorter texts are made up for the test."""


def found() -> Iterator[str]:
    for file in sorted(_TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq):
                sides = (node.left, *node.comparators)
                if any(_is_explanation(each) for side in sides for each in ast.walk(side)):
                    yield from (text for side in sides for text in _literals(side))


def _is_explanation(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "explanation"


def _literals(side: ast.expr) -> Iterator[str]:
    parts = side.elts if isinstance(side, ast.Tuple) else [side]
    for each in parts:
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and len(each.value.split()) >= _WORDS:
            yield each.value
