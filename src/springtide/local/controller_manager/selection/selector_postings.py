# SPDX-License-Identifier: Apache-2.0
"""An index of selectors by a required label: finds the selectors that may match an object.

The reverse of `label_postings`. A selector is listed under one condition that every matching object must meet, as
written, so nothing is parsed; an object looks up its own labels. Nothing here does I/O.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Final, TypeVar

from springtide.kube.cache import Cache
from springtide.kube.resources import Obj

T = TypeVar("T")

INDEX = "needed label"
MOST_VALUES: Final = 16
"""The maximum number of values of a condition under which one selector is listed."""


def of_workload(obj: Obj) -> list[Hashable]:
    """The index values of an object with a `metav1.LabelSelector` in its spec; none where that selects nothing."""
    selector, namespace = obj["spec"].get("selector"), obj["metadata"]["namespace"]
    if selector is None:
        return []
    for label, value in (selector.get("matchLabels") or {}).items():
        return [(namespace, label, value)]
    for expression in selector.get("matchExpressions") or ():
        values = expression.get("values") or ()
        if expression.get("operator") == "In" and len(values) <= MOST_VALUES:
            return [(namespace, expression.get("key", ""), value) for value in dict.fromkeys(values)]
    return [namespace]


def of_service(service: Obj) -> list[Hashable]:
    """The index values of a service, whose selector is a plain map; none without a selector."""
    selector, namespace = service["spec"].get("selector"), service["metadata"]["namespace"]
    if selector is None:
        return []
    for label, value in selector.items():
        return [(namespace, label, value)]
    return [namespace]


def has_candidates(cache: Cache[T], namespace: str, labels: Mapping[str, str]) -> bool:
    """Whether `candidates` finds any."""
    if cache.count_where(INDEX, namespace):
        return True
    return any(cache.count_where(INDEX, (namespace, label, value)) for label, value in labels.items())


def candidates(cache: Cache[T], namespace: str, labels: Mapping[str, str]) -> Iterator[T]:
    """The objects of the namespace whose selectors may match these labels."""
    yield from cache.where(INDEX, namespace)
    for label, value in labels.items():
        yield from cache.where(INDEX, (namespace, label, value))
