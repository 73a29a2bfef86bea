# SPDX-License-Identifier: Apache-2.0
"""The workloads and budgets that select an object with given labels, and parsed selectors.

A selector may have tens of thousands of conditions, and every change of a pod is matched against the selectors of its
namespace. Each selector is therefore parsed once per version, in a thread if it is long. Only selectors that require
one of the object's labels are matched, with yields to the event loop: the change is queued as `Labelled`, like any
other work of a controller. Most pods have no label that a selector requires, and nothing is queued for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from springtide.event_loop.long_work import in_thread
from springtide.event_loop.slices import in_slices
from springtide.kube.cache import Replaced
from springtide.kube.informer import Informer
from springtide.kube.resources import Key, Obj
from springtide.local.controller_manager.selection import selector_postings
from springtide.local.controller_manager.selection.label_postings import MOST_LABELS
from springtide.local.controller_manager.selection.ownership import parsed
from springtide.local.kinds.label_selectors import LIGHT_SELECTOR, Selector, parse


@dataclass(frozen=True, slots=True)
class Labelled:
    """A work item: labels that an object had before or has after its change; equal ones are looked up once."""

    namespace: str
    labels: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, namespace: str, labels: Mapping[str, str] | None) -> Labelled:
        return cls(namespace, frozenset((labels or {}).items()))

    def __str__(self) -> str:
        return f"labels in {self.namespace}"


@dataclass(frozen=True, slots=True)
class _Parsed:
    written: Obj | None
    selector: Selector


class Selectors:
    """The parsed `spec.selector` of each object of an informer."""

    def __init__(self, informer: Informer[Obj]) -> None:
        self._informer = informer
        self._parsed: dict[Key, _Parsed] = {}
        informer.add_index(selector_postings.INDEX, selector_postings.of_workload)
        informer.on_replace(self._forget)

    def _forget(self, change: Replaced[Obj]) -> None:
        if change.new is None:
            self._parsed.pop(change.key, None)

    async def of(self, obj: Obj) -> Selector:
        key, written = Key.of(obj), obj["spec"].get("selector")
        known = self._parsed.get(key)
        if known is not None and known.written is written:
            return known.selector
        # A new version mostly has only a new status; comparing takes a hundredth of the time of parsing.
        selector = known.selector if known is not None and known.written == written else await _parse(written)
        if key in self._informer:
            self._parsed[key] = _Parsed(written, selector)
        return selector

    def lookups(self, namespace: str, labels: Mapping[str, str] | None) -> list[Labelled]:
        """The work items for a changed object with these labels: none where no selector can match them."""
        if not len(self._informer):
            return []
        few = labels is None or len(labels) <= MOST_LABELS
        if few and not selector_postings.has_candidates(self._informer, namespace, labels or {}):
            return []
        return [Labelled.of(namespace, labels)]

    async def selecting(self, wanted: Labelled) -> list[Key]:
        """The objects of the namespace whose selectors match the labels."""
        labels = dict(wanted.labels)
        candidates = selector_postings.candidates(self._informer, wanted.namespace, labels)
        return [
            Key.of(candidate)
            async for candidate in in_slices(list(candidates))
            if (await self.of(candidate)).matches(labels)
        ]


def is_long(written: Obj | None) -> bool:
    """Whether parsing the selector would block the event loop too long."""
    return written is not None and len(msgspec.json.encode(written)) > LIGHT_SELECTOR


async def _parse(written: Obj | None) -> Selector:
    return await in_thread(lambda: parsed(written).prepare()) if is_long(written) else parsed(written)


async def parse_text(text: str) -> Selector:
    """The selector of a text such as `a=b,!c`, parsed in a thread if it is long; raises SelectorError."""
    if len(text) <= LIGHT_SELECTOR:
        return parse(text)
    return await in_thread(lambda: parse(text).prepare())
