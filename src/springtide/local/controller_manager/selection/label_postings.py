# SPDX-License-Identifier: Apache-2.0
"""An index of cached objects by label: finds the candidates of a selector without scanning the namespace.

An index function returns `postings(namespace, labels)` for each object; `candidates` then returns the objects that meet
the most selective of a selector's conditions. The caller applies the selector itself to each of them. Nothing here does
I/O.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from itertools import islice
from typing import Final, TypeVar

from springtide.kube.cache import Cache
from springtide.local.kinds.label_selectors import Selector

T = TypeVar("T")
Condition = tuple[str, tuple[str, ...]]
"""A label and its allowed values."""

MOST_LABELS: Final = 64
"""Objects with more labels are candidates for every selector: one object with 20,000 labels must not fill the index."""
MOST_CONDITIONS: Final = 16
"""The maximum number of conditions of a selector, and of values of a condition, that are looked up."""
_EQUALITY = ("=", "==", "in")


def postings(namespace: str, labels: Mapping[str, str]) -> list[Hashable]:
    """The values under which an index lists an object with these labels."""
    found: list[Hashable] = [namespace]
    if len(labels) > MOST_LABELS:
        found.append((namespace,))
    else:
        found += [(namespace, label, value) for label, value in labels.items()]
    return found


def candidates(cache: Cache[T], index: str, namespace: str, conditions: Iterable[Condition]) -> list[T]:
    """The listed objects of the namespace that may meet all conditions; without a condition, all of them."""
    best: tuple[Hashable, ...] = (namespace,)
    least = cache.count_where(index, namespace)
    for label, values in islice(conditions, MOST_CONDITIONS):
        if len(values) > MOST_CONDITIONS:
            continue
        places = (*((namespace, label, value) for value in dict.fromkeys(values)), (namespace,))
        count = sum(cache.count_where(index, place) for place in places)
        if count < least:
            best, least = places, count
    return [obj for place in best for obj in cache.where(index, place)]


def conditions_of(selector: Selector) -> Iterable[Condition]:
    """The conditions that require a label with one of some values."""
    return ((each.key, each.values) for each in selector.requirements if each.operator in _EQUALITY)


def selected(cache: Cache[T], index: str, namespace: str, selector: Selector) -> list[T]:
    """The listed objects of the namespace that the selector may match."""
    if selector.nothing:
        return []
    return candidates(cache, index, namespace, conditions_of(selector))
