# SPDX-License-Identifier: Apache-2.0
"""The Common Expression Language, as far as `x-kubernetes-validations` needs it.

Text goes through `syntax` (a tree), `compiler` (type-checked against the schema and turned into closures) and `rules`
(run on an object, with Kubernetes' messages). `library`, `strings`, `collections` and `kubernetes` hold the functions,
`types` and `values` what they work on. What is and is not evaluated, and why it is ours: docs/decisions/0002-cel.md.

This door is cheap: the rest is imported for the first schema that has rules, because most have none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

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


def rule_errors(schema: Schema, path: str) -> list[FieldError]:
    """What is wrong with the rules of a structural schema that stands at `path` in its CRD."""
    if not has_rules(schema):
        return []
    from springtide.local.schema.cel import rules  # noqa: PLC0415 -- paid for only where there are rules

    return rules.rule_errors(schema, path)


def compile_rules(schema: Schema, node: Node) -> Callable[[Any, Any], list[Problem]] | None:
    """A function from object and old object (None on creation) to what the rules say; None if there are none."""
    if not has_rules(schema):
        return None
    from springtide.local.schema.cel import rules  # noqa: PLC0415 -- paid for only where there are rules

    tree = rules.compile_rules(schema, node)
    return None if tree is None else lambda obj, old: rules.rule_problems(tree, obj, old)
