# SPDX-License-Identifier: Apache-2.0
"""Requests and limits of a pod as a whole.

Containers run concurrently, so their amounts are added. Init containers run one after another before them, so the
largest counts; sidecars (restartPolicy Always) run concurrently with all containers that start after them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from springtide.api import quantity
from springtide.api.quantity import Quantity

Amounts = dict[str, Quantity]

# Resources that the pod's own `spec.resources` may set for all containers together.
_POD_LEVEL: Final = ("cpu", "memory")


def pod_requests(spec: Mapping[str, Any]) -> Amounts:
    total = _total(spec, "requests")
    _add(total, _parsed(spec.get("overhead")))
    return total


def pod_limits(spec: Mapping[str, Any]) -> Amounts:
    total = _total(spec, "limits")
    # Overhead raises an existing limit; it does not create one.
    _add(total, {name: amount for name, amount in _parsed(spec.get("overhead")).items() if total.get(name)})
    return total


def _total(spec: Mapping[str, Any], which: str) -> Amounts:
    running: Amounts = {}
    for container in spec["containers"]:
        _add(running, _of(container, which))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers") or []:
        own = _of(container, which)
        if container.get("restartPolicy") == "Always":
            _add(running, own)
            _add(sidecars, own)
            _raise_to(peak, sidecars)
        else:
            _add(own, sidecars)
            _raise_to(peak, own)
    _raise_to(running, peak)
    return running | _pod_level(spec, which)


def _pod_level(spec: Mapping[str, Any], which: str) -> Amounts:
    stated = _parsed((spec.get("resources") or {}).get(which))
    return {name: amount for name, amount in stated.items() if name in _POD_LEVEL or name.startswith("hugepages-")}


def _of(container: Mapping[str, Any], which: str) -> Amounts:
    return _parsed((container.get("resources") or {}).get(which))


def _parsed(amounts: Mapping[str, Any] | None) -> Amounts:
    return {name: quantity.parse(str(amount)) for name, amount in (amounts or {}).items()}


def _add(total: Amounts, more: Mapping[str, Quantity]) -> None:
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def _raise_to(total: Amounts, least: Mapping[str, Quantity]) -> None:
    for name, amount in least.items():
        if name not in total or total[name] < amount:
            total[name] = amount
