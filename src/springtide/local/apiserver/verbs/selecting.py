# SPDX-License-Identifier: Apache-2.0
"""Label and field selectors of list, watch and deletecollection, as one predicate on stored records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from springtide.api.field_errors import cut
from springtide.local.apiserver.encoding.objects import labels_of
from springtide.local.apiserver.registry.resources import Resource
from springtide.local.apiserver.verbs.selected_fields import field_values
from springtide.local.apiserver.worker_thread import beside
from springtide.local.kinds import label_selectors
from springtide.local.kinds.label_index import LabelIndex
from springtide.local.kinds.label_selectors import LIGHT_SELECTOR
from springtide.local.status import StatusError, bad_request
from springtide.local.store.backend import Record

Predicate = Callable[[Record], bool]

_KEY_FIELDS = ("metadata.name", "metadata.namespace")


@dataclass(frozen=True, slots=True)
class Selection:
    """The selection of a request; a long selector is evaluated on the thread beside the event loop."""

    wanted: Predicate
    heavy: bool

    async def among(self, records: Sequence[Record]) -> list[Record]:
        return await beside(self.heavy, lambda: [record for record in records if self.wanted(record)])


async def selection(resource: Resource, labels: str, fields: str) -> Selection | None:
    """None when everything is selected, which is the fast and common case."""
    heavy = len(labels) + len(fields) > LIGHT_SELECTOR
    wanted = await beside(heavy, lambda: predicate(resource, labels, fields))
    return None if wanted is None else Selection(wanted, heavy)


def predicate(resource: Resource, labels: str, fields: str, name: str = "") -> Predicate | None:
    """None when everything is selected, which is the fast and common case."""
    checks: list[Predicate] = []
    if name:
        checks.append(lambda record: record.key.name == name)
    try:
        if labels:
            checks.append(_by_labels(label_selectors.parse(labels)))
        if fields:
            checks.extend(_by_fields(resource, label_selectors.parse_fields(fields)))
    except label_selectors.SelectorError as error:
        raise bad_request(str(error)) from None
    if not checks:
        return None
    if len(checks) == 1:
        return checks[0]
    return lambda record: all(check(record) for check in checks)


def _by_labels(selector: label_selectors.Selector) -> Predicate:
    if selector.long:
        # Without the selector itself: a watch that kept both would need twice the memory.
        index = LabelIndex(selector.requirements)
        return lambda record: index.matches(labels_of(record.body) or {})
    return lambda record: selector.matches(labels_of(record.body))


def _by_fields(resource: Resource, wanted: tuple[label_selectors.FieldRequirement, ...]) -> list[Predicate]:
    for requirement in wanted:
        if requirement.field not in _KEY_FIELDS and requirement.field not in resource.strategy.fields:
            raise _unknown_field(resource, requirement.field)
    by_key = _by_field(r for r in wanted if r.field in _KEY_FIELDS)
    by_content = _by_field(r for r in wanted if r.field not in _KEY_FIELDS)
    checks: list[Predicate] = []
    if by_key:
        checks.append(lambda record: all(values.include(_key_field(record, name)) for name, values in by_key.items()))
    if by_content:
        checks.append(lambda record: _content_matches(field_values(record, resource), by_content))
    return checks


@dataclass(slots=True)
class _Values:
    """Permitted values of one field: a watch checks every change, whatever the number of conditions."""

    equal: set[str] = field(default_factory=set)
    unequal: set[str] = field(default_factory=set)

    def include(self, value: str) -> bool:
        return value not in self.unequal and (not self.equal or self.equal == {value})


def _by_field(wanted: Iterable[label_selectors.FieldRequirement]) -> dict[str, _Values]:
    found: dict[str, _Values] = {}
    for requirement in wanted:
        values = found.setdefault(requirement.field, _Values())
        (values.equal if requirement.equal else values.unequal).add(requirement.value)
    return found


def _key_field(record: Record, field: str) -> str:
    return record.key.name if field == "metadata.name" else record.key.namespace


def _content_matches(present: Mapping[str, str], wanted: dict[str, _Values]) -> bool:
    return all(values.include(present[name]) for name, values in wanted.items())


def _unknown_field(resource: Resource, field: str) -> StatusError:
    if (
        resource.plural in ("pods", "nodes", "namespaces", "secrets", "events", "jobs", "services")
        and not resource.custom
    ):
        return bad_request(f"field label not supported: {cut(field)}")
    return bad_request(
        f'"{cut(field)}" is not a known field selector: only "metadata.name", "metadata.namespace"'
        if not resource.custom
        else f"field label not supported: {cut(field)}"
    )
