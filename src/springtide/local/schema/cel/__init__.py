# SPDX-License-Identifier: Apache-2.0
"""The Common Expression Language, as far as `x-kubernetes-validations` needs it.

Text goes through `syntax` (a tree), `compiler` (type-checked against the schema and turned into the closures of
`steps`), `rules` (checked when a CRD is written) and `evaluation` (run on an object, with Kubernetes' messages).
`library`, `strings`, `collections` and `kubernetes` hold the functions, `types` and `values` what they work on. Costs:
`bounds` and `estimates` tell them before, `charges` while an expression runs; `cost` and `budgets` set the limits.
What is and is not evaluated, and why it is ours: docs/decisions/0002-cel.md.

This door is cheap: the rest is imported for the first schema that has rules, because most have none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from springtide.api.field_errors import FieldError
from springtide.local.schema.node import Node
from springtide.local.schema.paths import Problem

Schema = Mapping[str, Any]


def has_rules(schema: Schema) -> bool:
    """Whether a schema has rules anywhere."""
    if schema.get("x-kubernetes-validations"):
        return True
    inside = [*(schema.get("properties") or {}).values(), schema.get("items"), schema.get("additionalProperties")]
    return any(has_rules(inner) for inner in inside if isinstance(inner, Mapping))


LONGEST: Final = 100_000
"""Characters of an expression, as in cel-go."""
LONG_RULES: Final = 5_000
"""Characters of rules that take some 50 milliseconds to compile."""
MOST_RULES: Final = 100_000
"""Characters that all rules of a schema may have: compiled they take 25 MB, and a second."""


def rule_length(schema: Schema) -> int:
    """Characters of all rules in a schema, well-formed or not. Those too long to be read at all do not count."""
    length, waiting = 0, [schema]
    while waiting:
        one = waiting.pop()
        rules = one.get("x-kubernetes-validations")
        for rule in rules if isinstance(rules, list) else ():
            if isinstance(rule, Mapping):
                texts = (rule.get("rule"), rule.get("messageExpression"))
                length += sum(len(text) for text in texts if isinstance(text, str) and len(text) <= LONGEST)
        properties = one.get("properties")
        inside = [*properties.values()] if isinstance(properties, Mapping) else []
        inside += [one.get("items"), one.get("additionalProperties")]
        waiting += [inner for inner in inside if isinstance(inner, Mapping)]
    return length


def rule_errors(schema: Schema, path: str, stored: Schema | None = None) -> list[FieldError]:
    """What is wrong with the rules of a structural schema that stands at `path` in its CRD.

    What the schema that is `stored` could cost already is not refused anew.
    """
    if not has_rules(schema) or schema == stored:
        return []
    from springtide.local.schema.cel import rules  # noqa: PLC0415 -- paid for only where there are rules

    return rules.rule_errors(schema, path, stored or {})


RunRules = Callable[[Any, Any, int | None], list[Problem]]
"""From object, old object (None on creation) and patience to what the rules say. With patience, raises `TooLong` when
they need more work than that."""


class TooLong(Exception):
    """The rules need longer than the caller can wait."""


SHORT: Final = 20_000
"""Patience, in units of work, for rules that run on the event loop: a few milliseconds, hardly ever more than 50."""


def compile_rules(schema: Schema, node: Node) -> RunRules | None:
    """What runs the rules of a schema; None if there are none."""
    if not has_rules(schema):
        return None
    from springtide.local.schema.cel import evaluation  # noqa: PLC0415 -- paid for only where there are rules

    tree = evaluation.compile_rules(schema, node)
    return None if tree is None else lambda obj, old, patience: evaluation.rule_problems(tree, obj, old, patience)
