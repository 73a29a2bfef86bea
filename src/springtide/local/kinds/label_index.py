# SPDX-License-Identifier: Apache-2.0
"""Index of many label conditions by label: matching takes time proportional to the object's labels.

Selectors of watches and disruption budgets may have tens of thousands of conditions, and are evaluated for every change
of an object. Checked one by one they would block the event loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from springtide.api import whole_numbers


class Condition(Protocol):
    """One condition, as in `label_selectors.Requirement`."""

    @property
    def key(self) -> str: ...
    @property
    def operator(self) -> str: ...
    @property
    def values(self) -> tuple[str, ...]: ...


@dataclass(slots=True)
class _Allowed:
    """Permitted values of one label where it is present."""

    values: set[str] | None = None
    """None when all values are permitted."""
    refused: set[str] | None = None
    """None for no values: an empty set takes 200 bytes."""
    absent: bool = False
    above: int | None = None
    below: int | None = None

    def narrow(self, condition: Condition) -> None:
        match condition.operator:
            case "=" | "==" | "in":
                self.values = (
                    set(condition.values) if self.values is None else self.values.intersection(condition.values)
                )
            case "!=" | "notin":
                if self.refused is None:
                    self.refused = set()
                self.refused.update(condition.values)
            case "!":
                self.absent = True
            case "gt":
                bound = int(condition.values[0])
                self.above = bound if self.above is None else max(self.above, bound)
            case "lt":
                bound = int(condition.values[0])
                self.below = bound if self.below is None else min(self.below, bound)

    def includes(self, value: str) -> bool:
        if self.absent or (self.refused is not None and value in self.refused):
            return False
        if self.values is not None and value not in self.values:
            return False
        if self.above is None and self.below is None:
            return True
        number = whole_numbers.parse(value)
        return (
            number is not None
            and (self.above is None or number > self.above)
            and (self.below is None or number < self.below)
        )


class LabelIndex:
    def __init__(self, conditions: Iterable[Condition]) -> None:
        self._needed: set[str] = set()
        self._allowed: dict[str, _Allowed] = {}
        for condition in conditions:
            self._allowed.setdefault(condition.key, _Allowed()).narrow(condition)
            if condition.operator not in ("!=", "notin", "!"):
                self._needed.add(condition.key)

    def matches(self, labels: Mapping[str, str]) -> bool:
        if len(self._needed) > len(labels) or any(key not in labels for key in self._needed):
            return False
        return all(
            allowed.includes(value) for key, value in labels.items() if (allowed := self._allowed.get(key)) is not None
        )
