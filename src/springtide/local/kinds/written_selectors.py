# SPDX-License-Identifier: Apache-2.0
"""Label selectors in the form of stored objects, for a single evaluation.

A selector that is evaluated for one object only need not be parsed: its names were validated when it was stored, and
evaluating it in this form takes a twentieth of the time.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class WrittenExpression(msgspec.Struct, frozen=True, gc=False):
    key: str = ""
    operator: str = ""
    values: tuple[str, ...] | None = None

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value in (self.values or ())
            case "NotIn":
                return value not in (self.values or ())
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
        return False


class WrittenSelector(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    match_labels: dict[str, str] | None = None
    match_expressions: tuple[WrittenExpression, ...] | None = None

    def matches(self, labels: Mapping[str, str]) -> bool:
        wanted = self.match_labels or {}
        return (
            len(wanted) <= len(labels)
            and all(labels.get(key) == value for key, value in wanted.items())
            and all(expression.matches(labels) for expression in self.match_expressions or ())
        )
