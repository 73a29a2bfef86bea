# SPDX-License-Identifier: Apache-2.0
"""Resource amounts as integers, cpu in thousandths and everything else in units.

A pod's requests are summed as in Kubernetes: containers run concurrently, so they add up; init containers run one after
another before them, so the largest counts; sidecars run beside everything that starts later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from springtide.api import quantity
from springtide.local.scheduler.state.views import PodSpec, Quantities

Amounts = dict[str, int]

ADVISORY: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
"""Resources that the local machine overcommits unless strict resources are on."""

# The assumed use of a container without requests when nodes are scored (never when they are filtered).
_USUAL: Final = {"cpu": 100, "memory": 200 * 1024 * 1024}
_POD_LEVEL: Final = ("cpu", "memory")


def read(written: Quantities | None) -> Amounts:
    return {name: _amount(name, str(text)) for name, text in (written or {}).items()}


def _amount(name: str, text: str) -> int:
    amount = quantity.parse(text)
    return amount.milli if name == "cpu" else amount.value


def written(name: str, amount: int) -> str:
    """As written in an object."""
    return str(quantity.Quantity(amount * (quantity.NANO // 1000)) if name == "cpu" else quantity.of(amount))


def requested(spec: PodSpec) -> Amounts:
    """The requests of the whole pod."""
    return _total(spec, {})


def usual(spec: PodSpec) -> Amounts:
    """The requests of the pod, with the usual use of containers that request no cpu or no memory."""
    return _total(spec, _USUAL)


def add(total: Amounts, more: Mapping[str, int]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def subtract(total: Amounts, less: Mapping[str, int]) -> None:
    for name, amount in less.items():
        total[name] = total.get(name, 0) - amount


def summed(parts: Iterable[Mapping[str, int]]) -> Amounts:
    total: Amounts = {}
    for part in parts:
        add(total, part)
    return total


def _total(spec: PodSpec, missing: Mapping[str, int]) -> Amounts:
    running: Amounts = {}
    for container in spec.containers:
        add(running, {**missing, **read(container.resources.requests)})
    if spec.init_containers:
        _include_init_containers(running, spec, missing)
    for name, amount in read(spec.resources.requests).items():
        if name in _POD_LEVEL or name.startswith("hugepages-"):
            running[name] = amount
    add(running, read(spec.overhead))
    return running


def _include_init_containers(running: Amounts, spec: PodSpec, missing: Mapping[str, int]) -> None:
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.init_containers:
        own = {**missing, **read(container.resources.requests)}
        if container.restart_policy == "Always":
            add(running, own)
            add(sidecars, own)
            _raise_to(peak, sidecars)
        else:
            add(own, sidecars)
            _raise_to(peak, own)
    _raise_to(running, peak)


def _raise_to(total: Amounts, least: Mapping[str, int]) -> None:
    for name, amount in least.items():
        total[name] = max(total.get(name, 0), amount)
