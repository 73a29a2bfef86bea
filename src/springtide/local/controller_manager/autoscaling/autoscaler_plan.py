# SPDX-License-Identifier: Apache-2.0
"""One round of an autoscaler: the new size, the status that explains it, and events. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from springtide.api import quantity
from springtide.kube.resources import Obj
from springtide.local.controller_manager import conditions
from springtide.local.controller_manager.autoscaling import autoscaler_limits as limits
from springtide.local.controller_manager.autoscaling.autoscaler_usage import (
    MetricInputs,
    NoAnswer,
    Proposal,
    Tolerance,
    by_average,
    by_utilization,
    samples,
)
from springtide.local.controller_manager.timestamps import stamp
from springtide.local.controller_manager.views import PodView

ABLE, ACTIVE, LIMITED = "AbleToScale", "ScalingActive", "ScalingLimited"


@dataclass(frozen=True, slots=True)
class Observed:
    autoscaler: Obj
    replicas: int = 0
    """The replicas in the target's scale."""
    unfit: tuple[str, str, str] | None = None
    """Event reason, condition reason and message when the target's selector is unusable."""
    pods: tuple[PodView, ...] = ()
    metrics: Sequence[Obj] | str = ()
    """PodMetrics of these pods, or why there are none."""
    memory: limits.Memory = limits.NOTHING


@dataclass(frozen=True, slots=True)
class Plan:
    status: Obj
    resize: int | None = None
    reason: str = ""
    events: tuple[tuple[str, str], ...] = ()
    """Warnings: reason and message."""
    memory: limits.Memory = limits.NOTHING


@dataclass(slots=True)
class _Round:
    """The results of this round so far."""

    observed: Observed
    now: datetime
    conditions: list[Obj]
    events: list[tuple[str, str]] = field(default_factory=list)
    metrics: list[Obj] | None = None

    def note(self, kind: str, status: str, reason: str, message: str) -> None:
        self.conditions = with_condition(self.conditions, kind, status, (reason, message), self.now)

    @property
    def before(self) -> Obj:
        return self.observed.autoscaler.get("status") or {}

    def status(self, desired: int) -> Obj:
        status: Obj = {
            "currentReplicas": self.observed.replicas,
            "desiredReplicas": desired,
            "currentMetrics": self.metrics,
            "conditions": self.conditions,
        }
        if last := self.before.get("lastScaleTime"):
            status["lastScaleTime"] = last
        return {name: value for name, value in status.items() if value or name == "desiredReplicas"}


def plan(observed: Observed, now: datetime) -> Plan:
    spec = observed.autoscaler["spec"]
    current = observed.replicas
    least, most = spec.get("minReplicas", 1), spec["maxReplicas"]
    memory = observed.memory
    if not memory.recommendations:
        memory = replace(memory, recommendations=(limits.Past(now, current),))
    known = list((observed.autoscaler.get("status") or {}).get("conditions") or ())
    found = _Round(observed, now, known)
    found.note(ABLE, "True", "SucceededGetScale", "the HPA controller was able to get the target's current scale")
    if current == 0:
        message = "scaling is disabled since the replica count of the target is zero"
        found.note(ACTIVE, "False", "ScalingDisabled", message)
        return Plan(found.status(current), memory=memory)
    if current > most:
        return Plan(found.status(most), most, "Current number of replicas above Spec.MaxReplicas", memory=memory)
    if current < least:
        return Plan(found.status(least), least, "Current number of replicas below Spec.MinReplicas", memory=memory)
    try:
        wanted, metric = _by_metrics(found)
    except NoAnswer as error:
        found.events.append(("FailedComputeMetricsReplicas", str(error)))
        # The real controller also writes an empty entry for a metric that could not be read.
        return Plan(found.status(found.before.get("desiredReplicas", 0)), events=tuple(found.events), memory=memory)
    reason = _reason(wanted, current, metric)
    limited = limits.limit(observed.autoscaler, limits.Bounds(current, least, most), wanted, memory, now)
    found.note(ABLE, "True", *limited.able)
    found.note(LIMITED, "True" if limited.limited else "False", *limited.why)
    resize = limited.replicas if limited.replicas != current else None
    return Plan(found.status(limited.replicas), resize, reason, tuple(found.events), limited.memory)


def _reason(wanted: int, current: int, metric: str) -> str:
    if wanted > current:
        return f"{metric} above target"
    return "All metrics below target" if wanted < current else ""


def after_resize(decided: Plan, observed: Observed, now: datetime) -> Plan:
    """The plan after the target was resized."""
    assert decided.resize is not None
    message = f"the HPA controller was able to update the target scale to {decided.resize}"
    found = with_condition(decided.status["conditions"], ABLE, "True", ("SucceededRescale", message), now)
    status = {**decided.status, "conditions": found, "lastScaleTime": stamp(now)}
    memory = limits.scaled(observed.autoscaler, decided.memory, observed.replicas, decided.resize, now)
    return replace(decided, status=status, memory=memory)


def after_failed_resize(decided: Plan, observed: Observed, why: str, now: datetime) -> Plan:
    message = f"the HPA controller was unable to update the target scale: {why}"
    found = with_condition(decided.status["conditions"], ABLE, "False", ("FailedUpdateScale", message), now)
    before = (observed.autoscaler.get("status") or {}).get("desiredReplicas", 0)
    return replace(decided, status={**decided.status, "conditions": found, "desiredReplicas": before})


def without_target(autoscaler: Obj, why: str, now: datetime) -> Obj:
    """The status when the target or its scale cannot be found."""
    before = autoscaler.get("status") or {}
    message = f"the HPA controller was unable to get the target's current scale: {why}"
    found = with_condition(before.get("conditions") or (), ABLE, "False", ("FailedGetScale", message), now)
    return {"desiredReplicas": 0, **before, "conditions": found}


def with_condition(present: Sequence[Obj], kind: str, status: str, why: tuple[str, str], now: datetime) -> list[Obj]:
    known = conditions.find(present, kind)
    since = stamp(now) if known is None or known["status"] != status else known["lastTransitionTime"]
    news = {"type": kind, "status": status, "lastTransitionTime": since, "reason": why[0], "message": why[1]}
    if known is None:
        return [*present, news]
    return [news if one is known else one for one in present]


# Metrics


def _by_metrics(found: _Round) -> tuple[int, str]:
    """The largest proposal of all metrics, and the name of that metric; NoAnswer when it is unknown."""
    observed = found.observed
    if observed.unfit is not None:
        event, reason, message = observed.unfit
        found.events.append((event, message))
        found.note(ACTIVE, "False", reason, message)
        raise NoAnswer(message)
    specs = observed.autoscaler["spec"].get("metrics") or ()
    replicas, name = 0, ""
    failures: list[tuple[str, str, str]] = []
    found.metrics = []
    for spec in specs:
        try:
            proposal, label, status = _by_metric(observed, spec, found.now)
        except NoAnswer as error:
            reason, subject = _FAILURES.get(spec["type"], ("InvalidMetricSourceType", _unknown))
            found.events.append((reason, str(error)))
            failures.append((reason, str(error), f"{subject(spec)}{error}"))
            found.metrics.append({"type": ""})
            continue
        found.metrics.append(status)
        if not replicas or proposal.replicas > replicas:
            replicas, name = proposal.replicas, label
    if failures and (len(failures) >= len(specs) or replicas < observed.replicas):
        reason, message, first = failures[0]
        found.note(ACTIVE, "False", reason, f"the HPA was unable to compute the replica count: {message}")
        raise NoAnswer(f"invalid metrics ({len(failures)} invalid out of {len(specs)}), first error is: {first}")
    message = f"the HPA was able to successfully calculate a replica count from {name}"
    found.note(ACTIVE, "True", "ValidMetricFound", message)
    return replicas, name


def _unknown(spec: Obj) -> str:
    return f'unknown metric source type "{spec["type"]}"'


_FAILURES: dict[str, tuple[str, Callable[[Obj], str]]] = {
    "Resource": (
        "FailedGetResourceMetric",
        lambda spec: f"failed to get {spec['resource']['name']} resource metric value: ",
    ),
    "ContainerResource": (
        "FailedGetContainerResourceMetric",
        lambda spec: f"failed to get {spec['containerResource']['container']} container metric value: ",
    ),
    "Pods": ("FailedGetPodsMetric", lambda spec: "failed to get pods metric value: "),
    "Object": ("FailedGetObjectMetric", lambda spec: "failed to get object metric value: "),
    "External": (
        "FailedGetExternalMetric",
        lambda spec: f"failed to get {spec['external']['metric']['name']} external metric value: ",
    ),
}
_OTHER_APIS = {
    "Pods": ("pods", "custom"),
    "Object": ("object", "custom"),
    "External": ("external", "external"),
}


def _by_metric(observed: Observed, spec: Obj, now: datetime) -> tuple[Proposal, str, Obj]:
    kind = spec["type"]
    if kind in _OTHER_APIS:
        part, api = _OTHER_APIS[kind]
        name = spec[part]["metric"]["name"]
        missing = f"no {api} metrics API ({api}.metrics.k8s.io) registered"
        raise NoAnswer(f"unable to get metric {name}: unable to fetch metrics from {api} metrics API: {missing}")
    part = "resource" if kind == "Resource" else "containerResource"
    source = spec[part]
    resource, container, target = source["name"], source.get("container", ""), source["target"]
    inputs = _inputs(observed, resource, container, target, now)
    try:
        if "averageValue" in target:
            proposal = by_average(inputs, quantity.parse(str(target["averageValue"])).milli)
            label = f"{resource} resource"
        else:
            proposal = by_utilization(inputs, target["averageUtilization"], container)
            scope = "container resource" if container else "resource"
            label = f"{resource} {scope} utilization (percentage of request)"
    except NoAnswer as error:
        raise NoAnswer(f"failed to get {resource} {_measure(target)}: {error}") from error
    named = {"name": resource} | ({"container": container} if container else {})
    return proposal, label, {"type": kind, part: named | {"current": _current(resource, proposal)}}


def _inputs(observed: Observed, resource: str, container: str, target: Obj, now: datetime) -> MetricInputs:
    wanted = f"failed to get {resource} {_measure(target)}: unable to get metrics for resource {resource}: "
    if isinstance(observed.metrics, str):
        raise NoAnswer(f"{wanted}unable to fetch metrics from resource metrics API: {observed.metrics}")
    if not observed.metrics:
        raise NoAnswer(f"{wanted}no metrics returned from resource metrics API")
    used = samples(observed.metrics, resource, container)
    return MetricInputs(observed.replicas, observed.pods, used, resource, Tolerance.of(observed.autoscaler), now)


def _measure(target: Obj) -> str:
    return "usage" if "averageValue" in target else "utilization"


def _current(resource: str, proposal: Proposal) -> Obj:
    form = quantity.Form.BINARY if resource == "memory" else quantity.Form.DECIMAL
    current: Obj = {"averageValue": str(quantity.Quantity(proposal.average * 10**6, form))}
    if proposal.utilization is not None:
        current["averageUtilization"] = proposal.utilization
    return current
