# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of horizontal autoscaling: from the pods' usage to a number of replicas. Pure.

Pods that have just started or have no metrics are estimated conservatively: as idle when scaling out, as fully busy
when scaling in. All amounts are in thousandths, as in kube-controller-manager, whose integer divisions are kept.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from springtide.api import quantity
from springtide.kube.resources import Obj
from springtide.local.controller_manager.timestamps import read
from springtide.local.controller_manager.views import Container, PodView

CPU_INITIALIZATION = timedelta(minutes=5)
INITIAL_READINESS_DELAY = timedelta(seconds=30)
DEFAULT_TOLERANCE = 0.1


_DURATION = re.compile(r"([0-9.]+)(h|ms|m|s|us|µs|ns)")
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


class NoAnswer(Exception):
    """The number of replicas cannot be computed; the message is for users."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The usage of one pod."""

    amount: int
    at: datetime
    window: timedelta


@dataclass(frozen=True, slots=True)
class Tolerance:
    down: float = DEFAULT_TOLERANCE
    up: float = DEFAULT_TOLERANCE

    @classmethod
    def of(cls, autoscaler: Obj) -> Tolerance:
        behavior = autoscaler["spec"].get("behavior") or {}

        def one(way: str) -> float:
            text = (behavior.get(way) or {}).get("tolerance")
            return DEFAULT_TOLERANCE if text is None else quantity.parse(str(text)).nanos / quantity.NANO

        return cls(one("scaleDown"), one("scaleUp"))

    def within(self, ratio: float) -> bool:
        return 1.0 - self.down <= ratio <= 1.0 + self.up


@dataclass(frozen=True, slots=True)
class Proposal:
    replicas: int
    average: int
    """The average usage per pod, in thousandths."""
    utilization: int | None = None
    """In percent of the pods' requests."""


# Usage, from metrics.k8s.io


def samples(metrics: Sequence[Obj], resource: str, container: str = "") -> dict[str, Sample]:
    """Usage by pod name; pods with incomplete metrics are omitted."""
    found: dict[str, Sample] = {}
    for item in metrics:
        containers = item.get("containers") or ()
        if container:
            containers = [one for one in containers if one["name"] == container]
        amounts = [one["usage"].get(resource) for one in containers]
        if amounts and None not in amounts:
            amount = sum(quantity.parse(str(text)).milli for text in amounts)
            found[item["metadata"]["name"]] = Sample(amount, read(item["timestamp"]), _window(item.get("window", "")))
    return found


def _window(text: str) -> timedelta:
    """A Go duration such as `1m0s` or `20.5s`."""
    return timedelta(seconds=sum(float(number) * _UNITS[unit] for number, unit in _DURATION.findall(text)))


# Requests


def requests(pods: Iterable[PodView], resource: str, container: str = "") -> dict[str, int]:
    return {pod.metadata.name: _request(pod, resource, container) for pod in pods}


def _request(pod: PodView, resource: str, container: str) -> int:
    whole = pod.spec.resources.requests
    if whole and not container:
        if resource not in whole:
            raise NoAnswer(f"missing pod-level request for {resource} in Pod {pod.metadata.name}")
        return _milli(whole[resource]) + _milli((pod.spec.overhead or {}).get(resource, 0))
    if container:
        one = next((one for one in _running(pod) if one.name == container), None)
        if one is None:
            raise NoAnswer(f"container {container} not found in Pod {pod.metadata.name}")
        return _container_request(pod, one, resource)
    return sum(_container_request(pod, one, resource) for one in _running(pod))


def _running(pod: PodView) -> list[Container]:
    """The containers that run as long as the pod does."""
    sidecars = [one for one in pod.spec.init_containers if one.restart_policy == "Always"]
    return [*pod.spec.containers, *sidecars]


def _container_request(pod: PodView, container: Container, resource: str) -> int:
    asked = container.resources.requests or {}
    if resource not in asked:
        where = f"container {container.name} of Pod {pod.metadata.name}"
        raise NoAnswer(f"missing request for {resource} in {where}")
    return _milli(asked[resource])


def _milli(amount: str | int | float) -> int:
    return quantity.parse(str(amount)).milli


# Proposals


@dataclass(frozen=True, slots=True)
class _Groups:
    ready: int
    unready: frozenset[str]
    missing: frozenset[str]
    ignored: frozenset[str]


def _grouped(pods: Iterable[PodView], used: Mapping[str, Sample], resource: str, now: datetime) -> _Groups:
    ready = 0
    unready: set[str] = set()
    missing: set[str] = set()
    ignored: set[str] = set()
    for pod in pods:
        name = pod.metadata.name
        if pod.metadata.deletion_timestamp is not None or pod.status.phase == "Failed":
            ignored.add(name)
        elif pod.status.phase == "Pending":
            unready.add(name)
        elif name not in used:
            missing.add(name)
        elif resource == "cpu" and _warming_up(pod, used[name], now):
            unready.add(name)
        else:
            ready += 1
    return _Groups(ready, frozenset(unready), frozenset(missing), frozenset(ignored))


def _warming_up(pod: PodView, sample: Sample, now: datetime) -> bool:
    """Whether the pod's usage is not yet representative."""
    condition, start = pod.ready_condition, pod.status.start_time
    if condition is None or start is None:
        return True
    changed = condition.last_transition_time or start
    if start + CPU_INITIALIZATION > now:
        return condition.status == "False" or sample.at < changed + sample.window
    return condition.status == "False" and start + INITIAL_READINESS_DELAY > changed


@dataclass(frozen=True, slots=True)
class MetricInputs:
    """The inputs for one metric."""

    replicas: int
    pods: Sequence[PodView]
    used: Mapping[str, Sample]
    resource: str
    tolerance: Tolerance
    now: datetime


def by_utilization(inputs: MetricInputs, target: int, container: str = "") -> Proposal:
    """Replicas that bring usage to `target` percent of the pods' requests."""
    groups, known = _known(inputs)
    asked = requests(inputs.pods, inputs.resource, container)

    def ratio(amounts: Mapping[str, int]) -> tuple[float, int, int]:
        counted = [name for name in amounts if name in asked]
        total_asked = sum(asked[name] for name in counted)
        if not total_asked:
            raise NoAnswer("no metrics returned matched known pods")
        total = sum(amounts[name] for name in counted)
        percent = total * 100 // total_asked
        return percent / target, percent, total // len(counted)

    first, percent, average = ratio(known)
    busy = {name: asked[name] * max(100, target) // 100 for name in groups.missing}
    replicas = _replicas(inputs, groups, known, first, busy, lambda amounts: ratio(amounts)[0])
    return Proposal(replicas, average, percent)


def by_average(inputs: MetricInputs, target: int) -> Proposal:
    """Replicas that bring the average usage to `target` thousandths."""
    groups, known = _known(inputs)

    def ratio(amounts: Mapping[str, int]) -> float:
        return sum(amounts.values()) // len(amounts) / target

    busy = dict.fromkeys(groups.missing, target)
    replicas = _replicas(inputs, groups, known, ratio(known), busy, ratio)
    return Proposal(replicas, sum(known.values()) // len(known))


def _known(inputs: MetricInputs) -> tuple[_Groups, dict[str, int]]:
    if not inputs.pods:
        raise NoAnswer("no pods returned by selector while calculating replica count")
    groups = _grouped(inputs.pods, inputs.used, inputs.resource, inputs.now)
    left_out = groups.ignored | groups.unready
    known = {name: sample.amount for name, sample in inputs.used.items() if name not in left_out}
    if not known:
        raise NoAnswer("did not receive metrics for targeted pods (pods might be unready)")
    return groups, known


def _replicas(
    inputs: MetricInputs,
    groups: _Groups,
    known: Mapping[str, int],
    first: float,
    busy: Mapping[str, int],
    ratio: Callable[[Mapping[str, int]], float],
) -> int:
    current, tolerance = inputs.replicas, inputs.tolerance
    growing_with_unready = bool(groups.unready) and first > 1.0
    if not growing_with_unready and not groups.missing:
        return current if tolerance.within(first) else math.ceil(first * groups.ready)
    amounts = dict(known)
    if first < 1.0:
        amounts |= busy
    elif first > 1.0:
        amounts |= dict.fromkeys(groups.missing, 0)
    if growing_with_unready:
        amounts |= dict.fromkeys(groups.unready, 0)
    second = ratio(amounts)
    if tolerance.within(second) or (first < 1.0 < second) or (second < 1.0 < first):
        return current  # the estimates reversed the direction: do nothing
    wanted = math.ceil(second * len(amounts))
    turned = (second < 1.0 and wanted > current) or (second > 1.0 and wanted < current)
    return current if turned else wanted
