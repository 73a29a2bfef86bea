# SPDX-License-Identifier: Apache-2.0
"""What a pod requests of its node."""

from __future__ import annotations

from collections.abc import Mapping

from springtide.api.quantity import Quantity, QuantityError, parse
from springtide.views.explaining.evidence import Obj


def of(pod: Obj) -> dict[str, Quantity]:
    """Containers run at the same time, init containers one after the other before them."""
    spec = pod.get("spec") or {}
    found: dict[str, Quantity] = {}
    for container in spec.get("containers") or ():
        for resource, amount in _asked(container).items():
            found[resource] = found[resource] + amount if resource in found else amount
    for container in spec.get("initContainers") or ():
        for resource, amount in _asked(container).items():
            found[resource] = max(found.get(resource, amount), amount)
    return found


def amounts(given: Mapping[str, object]) -> dict[str, Quantity]:
    found = {}
    for resource, amount in given.items():
        try:
            found[resource] = parse(str(amount))
        except QuantityError:
            continue
    return found


def _asked(container: Obj) -> dict[str, Quantity]:
    named = container.get("resources") or {}
    return amounts({**(named.get("limits") or {}), **(named.get("requests") or {})})
