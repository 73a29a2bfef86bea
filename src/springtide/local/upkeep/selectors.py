# SPDX-License-Identifier: Apache-2.0
"""Which workloads and budgets select an object with given labels.

A selector may have tens of thousands of conditions, and every change of a pod asks all selectors of its namespace. So
each is parsed once for as long as its object says the same, and the candidates are gone through between turns of the
event loop: the change is queued as `Labelled`, like any other work of a controller.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from springtide.kube.cache import Replaced
from springtide.kube.informer import Informer
from springtide.kube.resources import Key, Obj
from springtide.local.kinds.label_selectors import Selector
from springtide.local.upkeep.ownership import parsed

T = TypeVar("T")

_TURN = 0.005
"""Seconds of work between two turns of the event loop."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """Labels that an object had before or has after its change; equal ones are looked up once."""

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
        informer.on_replace(self._forget)

    def _forget(self, change: Replaced[Obj]) -> None:
        if change.new is None:
            self._parsed.pop(change.key, None)

    def of(self, obj: Obj) -> Selector:
        key, written = Key.of(obj), obj["spec"].get("selector")
        known = self._parsed.get(key)
        if known is not None and known.written is written:
            return known.selector
        # A new version mostly has a new status only; to compare takes a hundredth of the time to parse.
        selector = known.selector if known is not None and known.written == written else parsed(written)
        if key in self._informer:
            self._parsed[key] = _Parsed(written, selector)
        return selector

    async def selecting(self, wanted: Labelled) -> list[Key]:
        """The objects of the namespace whose selectors match the labels."""
        labels = dict(wanted.labels)
        return [
            Key.of(candidate)
            async for candidate in in_turns(self._informer.objects(wanted.namespace))
            if self.of(candidate).matches(labels)
        ]


async def in_turns(items: Iterable[T]) -> AsyncIterator[T]:
    """The items, with a turn of the event loop whenever work on them has taken a while."""
    clock = asyncio.get_running_loop().time
    since = clock()
    for item in items:
        yield item
        if clock() - since > _TURN:
            await asyncio.sleep(0)
            since = clock()
