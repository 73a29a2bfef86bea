# SPDX-License-Identifier: Apache-2.0
"""The Common Expression Language, as far as `x-kubernetes-validations` needs it.

Text goes through `syntax` (parse tree), `compiler` (type-checked against the schema and turned into the closures of
`steps`), `rules` (checked when a CRD is written) and `evaluation` (run on an object, with Kubernetes' messages).
`library`, `strings`, `collections` and `kubernetes` hold the functions, `types` and `values` their operands. Costs:
`bounds` and `estimates` estimate them in advance, `charges` measures them at run time; `cost` and `budgets` set limits.
The supported subset, and why this is an own implementation: docs/decisions/0002-cel.md.

Importing this package is cheap: the modules are imported for the first schema with rules, because most have none.
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
"""Maximum length of an expression in characters, as in cel-go."""
LONG_RULES: Final = 5_000
"""Characters of rules that take about 50 milliseconds to compile."""
MOST_RULES: Final = 100_000
"""Maximum characters of all rules of a schema: compiled they take 25 MB, and a second."""


def rule_length(schema: Schema) -> int:
    """Characters of all rules in a schema, well-formed or not, except rules that are too long to be parsed."""
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
    """Errors in the rules of a structural schema at `path` in its CRD.

    Costs that the `stored` schema already has are not rejected again.
    """
    if not has_rules(schema) or schema == stored:
        return []
    from springtide.local.schema.cel import rules  # noqa: PLC0415 -- paid for only where there are rules

    return rules.rule_errors(schema, path, stored or {})


RunRules = Callable[[Any, Any, int | None], list[Problem]]
"""From object, old object (None on creation) and patience to the problems that the rules find. Raises `TooLong` when
the rules need more work than the patience."""


class TooLong(Exception):
    """The rules take longer than the caller can wait."""


SHORT: Final = 20_000
"""Patience, in units of work, for rules on the event loop: a few milliseconds, rarely more than 50."""


def compile_rules(schema: Schema, node: Node) -> RunRules | None:
    """A function that runs the rules of a schema; None if there are none."""
    if not has_rules(schema):
        return None
    from springtide.local.schema.cel import evaluation  # noqa: PLC0415 -- paid for only where there are rules

    tree = evaluation.compile_rules(schema, node)
    return None if tree is None else lambda obj, old, patience: evaluation.rule_problems(tree, obj, old, patience)
