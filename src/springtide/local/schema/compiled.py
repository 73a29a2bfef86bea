# SPDX-License-Identifier: Apache-2.0
"""The compiled schema of one CRD version: the package's interface for custom resources.

The API server makes one when a CRD is established, keeps it with the resource and uses it to prune, default and
validate every object. Each part is compiled when it is first needed, so that a server with many CRDs starts quickly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from springtide.api.field_errors import FieldError
from springtide.local.schema import lists, ratchet, regex, structural
from springtide.local.schema.cel import LONG_RULES, RunRules, compile_rules, rule_length
from springtide.local.schema.defaults import Fill, Room, compile_defaults
from springtide.local.schema.node import Node
from springtide.local.schema.paths import ROOT, Problem
from springtide.local.schema.prune import compile_prune
from springtide.local.schema.validate import NOWHERE, Check, compile_checks

_BLOCKING = frozenset(
    {
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    }
)
_NOT_CHECKED = FieldError(
    "FieldValueInvalid",
    NOWHERE,
    "Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
)


_LARGE_PATTERN = re.compile(r"\{[0-9]|\\[pP]")


def _is_costly(schema: Any) -> bool:
    if isinstance(schema, list):
        return any(map(_is_costly, schema))
    if not isinstance(schema, Mapping):
        return False
    pattern = schema.get("pattern")
    if isinstance(pattern, str) and _LARGE_PATTERN.search(pattern):
        return True
    return any(map(_is_costly, schema.values()))


class CompiledSchema:
    """Processes objects of one custom kind in one version. Compiled at the first object."""

    def __init__(self, schema: Mapping[str, Any] | None) -> None:
        """`schema` is the version's `openAPIV3Schema`, accepted by `crd_rules`; None keeps everything."""
        self._schema = schema or {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        self._run_rules: RunRules | None = None
        self._is_compiled = False

    @cached_property
    def costly(self) -> bool:
        """Whether short values may take long: patterns that repeat or name Unicode classes."""
        return _is_costly(self._schema)

    @cached_property
    def node(self) -> Node:
        """The `Node` graph, for patches and server-side apply."""
        return structural.build(self._schema)

    @cached_property
    def _prune(self) -> Callable[[dict[str, Any]], list[str]]:
        return compile_prune(self.node)

    @cached_property
    def _fill(self) -> Fill | None:
        return compile_defaults(self.node)

    @cached_property
    def _check(self) -> Check:
        return compile_checks(self._schema)

    @cached_property
    def _has_lists(self) -> bool:
        return lists.mentions(self.node)

    @property
    def _rules(self) -> RunRules | None:
        # Not a cached property: until Python 3.12 all of them block while one is computed, which may be on a thread.
        if not self._is_compiled:
            self._run_rules = compile_rules(self._schema, self.node)
            self._is_compiled = True
        return self._run_rules

    @property
    def compiles_long(self) -> bool:
        """Whether the rules are not compiled yet, and `compile` would block the event loop."""
        return not self._is_compiled and rule_length(self._schema) > LONG_RULES

    def compile(self) -> None:
        """Compile the rules, which `validate` does otherwise."""
        self._rules  # noqa: B018 -- computed when it is first asked for

    def prune(self, obj: dict[str, Any]) -> list[str]:
        """Drop unknown fields in place and return their paths. Raises `decode.DecodeError` for malformed metadata."""
        return self._prune(obj)

    def default(self, obj: dict[str, Any], room: Room | None = None) -> None:
        """Fill in the schema's defaults, in place. Raises `defaults.TooManyDefaults` when the room is used up."""
        if self._fill is not None:
            self._fill(obj, room or Room())

    def validate(
        self, obj: dict[str, Any], old: dict[str, Any] | None = None, patience: int | None = None
    ) -> list[FieldError]:
        """Errors in the values; on an update (`old`) errors in unchanged values are ignored.

        With `patience`, raises `cel.TooLong` when the rules need more work than that.
        """
        with regex.budget():
            return self._problems(obj, old, patience)

    def _problems(self, obj: dict[str, Any], old: dict[str, Any] | None, patience: int | None) -> list[FieldError]:
        problems: list[Problem] = []
        self._check(obj, ROOT, problems)
        if problems and old is not None:
            problems = ratchet.introduced(problems, obj, old, self.node)
        if self._has_lists:
            problems += lists.embedded_problems(obj, self.node)
            if old is None or not lists.list_problems(old, self.node):
                problems += lists.list_problems(obj, self.node)
        errors = [problem.error for problem in problems]
        if self._rules is None:
            return errors
        if any(error.reason in _BLOCKING for error in errors):
            return [*errors, _NOT_CHECKED]
        return errors + [problem.error for problem in self._rules(obj, old, patience)]
