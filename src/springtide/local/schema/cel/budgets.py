# SPDX-License-Identifier: Apache-2.0
"""Cost limits for the rules of a CRD: errors about estimated costs, with kube-apiserver's messages.

A schema's rules are estimated for the largest object that the schema and the request size allow. A rule under lists and
maps counts as often as these can repeat it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from springtide.api.field_errors import FieldError, forbidden
from springtide.local.schema.cel.cost import PER_CRD, PER_RULE, capped

_ADVICE: Final = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
    "declared)"
)
_MOST_SHOWN: Final = 4


class RuleCost(NamedTuple):
    """The estimated cost of one expression."""

    field: str
    text: str
    cost: int

    @property
    def exceeds(self) -> bool:
        return self.cost > PER_RULE

    @property
    def error(self) -> FieldError:
        name = "estimated messageExpression cost" if self.field.endswith("messageExpression") else "estimated rule cost"
        return forbidden(self.field, _exceeded(name, self.cost, PER_RULE))


def budget_errors(costs: Sequence[RuleCost], path: str, stored: Sequence[RuleCost] = ()) -> list[FieldError]:
    """Errors about single rules and about their total.

    `stored` are the costs of the schema that is replaced: expressions that exceeded the limit in it are accepted.
    """
    spared = {(each.field, each.text) for each in stored if each.exceeds}
    errors = [each.error for each in costs if each.exceeds and (each.field, each.text) not in spared]
    if exceeds_total(stored):
        known = {(each.field, each.text, each.cost) for each in stored}
        costs = [each for each in costs if tuple(each) not in known]
    total = _total(costs)
    if exceeds_total(costs):
        expensive = sorted((each for each in costs if each.cost * 100 >= PER_CRD), key=lambda each: -each.cost)
        detail = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        errors += [forbidden(each.field, detail) for each in expensive[:_MOST_SHOWN]]
        name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        errors.append(forbidden(path, _exceeded(name, total, PER_CRD)))
    return errors


def exceeds_total(costs: Iterable[RuleCost]) -> bool:
    return _total(costs) > PER_CRD


def _total(costs: Iterable[RuleCost]) -> int:
    return capped(sum(each.cost for each in costs))


def _exceeded(name: str, cost: int, limit: int) -> str:
    factor = cost / limit
    shown = "more than 100x" if factor > 100 else f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    return f"{name} exceeds budget by factor of {shown} {_ADVICE}"
