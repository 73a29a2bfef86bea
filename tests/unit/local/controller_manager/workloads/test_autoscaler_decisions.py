# SPDX-License-Identifier: Apache-2.0
"""What autoscalers make of usage, limits and what happened before."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.unit.local.controller_manager.workloads.builders import NOW, a_pod, ago

from springtide.kube.resources import Obj
from springtide.local.controller_manager.autoscaling.autoscaler_limits import Bounds, Memory, Past, limit, scaled
from springtide.local.controller_manager.autoscaling.autoscaler_plan import (
    Observed,
    Plan,
    after_failed_resize,
    after_resize,
    plan,
    without_target,
)
from springtide.local.controller_manager.autoscaling.autoscaler_usage import samples
from springtide.local.controller_manager.views import PodView

HALF_CPU = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
}
LONG_AGO = (Past(NOW - timedelta(hours=1), 1),)


def an_autoscaler(*metrics: Obj, status: Obj | None = None, **spec: Any) -> Obj:
    found = {"minReplicas": 1, "maxReplicas": 10, "metrics": list(metrics) or [HALF_CPU], **spec}
    return {"metadata": {"name": "web", "namespace": "default"}, "spec": found, "status": status or {}}


def a_worker(name: str, cpu: str = "1", phase: str = "Running", *, ready: bool = True, **parts: Any) -> PodView:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}
    status = {"startTime": ago(3600), **parts.pop("status", {})}
    return a_pod(name, phase, ready=ready, ready_for=3000, spec={"containers": [container]}, status=status, **parts)


def usage(name: str, cpu: str = "500m", memory: str = "512Mi", container: str = "c") -> Obj:
    containers = [{"name": container, "usage": {"cpu": cpu, "memory": memory}}]
    return {"metadata": {"name": name}, "timestamp": ago(5), "window": "30s", "containers": containers}


def decided(*cpu: str, autoscaler: Obj | None = None, **seen: Any) -> Plan:
    pods = tuple(a_worker(f"p{number}") for number in range(len(cpu)))
    metrics = [usage(f"p{number}", used) for number, used in enumerate(cpu)]
    found = {"replicas": len(cpu), "pods": pods, "metrics": metrics, "memory": Memory(LONG_AGO), **seen}
    return plan(Observed(autoscaler or an_autoscaler(), **found), NOW)


def conditions(found: Plan) -> dict[str, tuple[str, str]]:
    return {c["type"]: (c["status"], c["reason"]) for c in found.status["conditions"]}


@pytest.mark.parametrize(
    ("cpu", "expected"),
    [
        (("500m", "500m"), None),
        (("540m", "550m"), None),
        (("900m", "700m"), 4),
        (("200m", "100m"), 1),
        (("1", "1", "1"), 6),
    ],
    ids=["just right", "within tolerance", "too busy", "too idle", "twice as many"],
)
def test_replicas_follow_utilization(cpu: tuple[str, ...], expected: int | None) -> None:
    assert decided(*cpu).resize == expected


def test_a_decision_is_explained_in_status() -> None:
    found = decided("900m", "700m")
    assert found.reason == "cpu resource utilization (percentage of request) above target"
    assert conditions(found) == {
        "AbleToScale": ("True", "ReadyForNewScale"),
        "ScalingActive": ("True", "ValidMetricFound"),
        "ScalingLimited": ("False", "DesiredWithinRange"),
    }
    current = {"averageUtilization": 80, "averageValue": "800m"}
    assert found.status["currentMetrics"] == [{"type": "Resource", "resource": {"name": "cpu", "current": current}}]
    assert (found.status["currentReplicas"], found.status["desiredReplicas"]) == (2, 4)


def test_average_values_need_no_requests() -> None:
    metric = {
        "type": "Resource",
        "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "256Mi"}},
    }
    found = decided("1", "1", autoscaler=an_autoscaler(metric))
    assert found.resize == 4
    assert found.status["currentMetrics"][0]["resource"]["current"] == {"averageValue": "512Mi"}
    assert found.reason == "memory resource above target"


def test_one_container_may_be_looked_at_alone() -> None:
    target = {"type": "Utilization", "averageUtilization": 50}
    metric = {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "c", "target": target}}
    found = decided("900m", "700m", autoscaler=an_autoscaler(metric))
    assert found.resize == 4
    assert found.status["currentMetrics"][0]["containerResource"]["container"] == "c"


def test_the_metric_that_wants_most_wins() -> None:
    memory = {
        "type": "Resource",
        "resource": {"name": "memory", "target": {"type": "Utilization", "averageUtilization": 25}},
    }
    found = decided("500m", "500m", autoscaler=an_autoscaler(HALF_CPU, memory))
    assert (found.resize, found.reason) == (4, "memory resource utilization (percentage of request) above target")


def test_pods_that_tell_nothing_are_taken_as_idle_when_growing_and_as_busy_when_shrinking() -> None:
    pods = tuple(a_worker(name) for name in ("p0", "p1", "p2"))
    busy = [usage("p0", "1"), usage("p1", "1")]
    assert decided("x", replicas=3, pods=pods, metrics=busy).resize == 4
    idle = [usage("p0", "100m"), usage("p1", "100m")]
    assert decided("x", replicas=3, pods=pods, metrics=idle).resize is None


def test_pods_that_are_not_ready_do_not_speed_growth_up() -> None:
    pods = (a_worker("p0"), a_worker("p1", phase="Pending", ready=False))
    assert decided("x", replicas=2, pods=pods, metrics=[usage("p0", "1")]).resize is None
    assert decided("x", replicas=2, pods=pods, metrics=[usage("p0", "3")]).resize == 4


def test_a_pod_that_has_just_started_is_not_judged_by_its_cpu() -> None:
    container = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
    fresh = a_pod("p1", ready=True, ready_for=10, spec={"containers": [container]}, status={"startTime": ago(20)})
    pods = (a_worker("p0"), fresh)
    found = decided("x", replicas=2, pods=pods, metrics=[usage("p0", "500m"), usage("p1", "5")])
    assert found.resize is None


NO_METRICS = (
    "failed to get cpu utilization: unable to get metrics for resource cpu: "
    "unable to fetch metrics from resource metrics API: the server could not find the requested resource"
)


def test_without_metrics_nothing_changes_and_the_reason_is_told() -> None:
    found = decided("x", metrics="the server could not find the requested resource")
    assert found.resize is None
    assert conditions(found)["ScalingActive"] == ("False", "FailedGetResourceMetric")
    first, second = found.events
    assert first == ("FailedGetResourceMetric", NO_METRICS)
    summary = "invalid metrics (1 invalid out of 1), first error is: failed to get cpu resource metric value: "
    assert second == ("FailedComputeMetricsReplicas", summary + NO_METRICS)


def test_a_container_without_a_request_is_named() -> None:
    pods = (
        a_pod("p0", ready=True, ready_for=3000, spec={"containers": [{"name": "c"}]}, status={"startTime": ago(3600)}),
    )
    found = decided("x", replicas=1, pods=pods, metrics=[usage("p0")])
    assert found.events[0][1] == "failed to get cpu utilization: missing request for cpu in container c of Pod p0"


@pytest.mark.parametrize(
    ("replicas", "resize", "reason"),
    [
        (12, 10, "Current number of replicas above Spec.MaxReplicas"),
        (1, 2, "Current number of replicas below Spec.MinReplicas"),
        (0, None, ""),
    ],
)
def test_bounds_come_first(replicas: int, resize: int | None, reason: str) -> None:
    found = plan(Observed(an_autoscaler(minReplicas=2), replicas), NOW)
    assert (found.resize, found.reason) == (resize, reason)


def test_an_unfit_selector_stops_scaling() -> None:
    found = plan(Observed(an_autoscaler(), 2, unfit=("SelectorRequired", "InvalidSelector", "no selector")), NOW)
    assert conditions(found)["ScalingActive"] == ("False", "InvalidSelector")
    assert found.resize is None


def test_a_resize_is_noted_with_its_time() -> None:
    seen = Observed(an_autoscaler(), 12)
    done = after_resize(plan(seen, NOW), seen, NOW)
    assert conditions(done)["AbleToScale"] == ("True", "SucceededRescale")
    assert done.status["lastScaleTime"] == ago(0)
    failed = after_failed_resize(plan(seen, NOW), seen, "no", NOW)
    assert conditions(failed)["AbleToScale"] == ("False", "FailedUpdateScale")
    assert failed.status["desiredReplicas"] == 0


def test_a_missing_target_is_noted() -> None:
    status = without_target(an_autoscaler(status={"currentReplicas": 2}), "gone", NOW)
    assert status["conditions"][0]["reason"] == "FailedGetScale"
    assert status["currentReplicas"] == 2


# Limits


def seconds_ago(seconds: float, replicas: int) -> Past:
    return Past(NOW - timedelta(seconds=seconds), replicas)


@pytest.mark.parametrize(
    ("current", "desired", "past", "expected", "able", "why"),
    [
        (2, 3, (), 3, "ReadyForNewScale", "DesiredWithinRange"),
        (5, 2, (seconds_ago(100, 4),), 4, "ScaleDownStabilized", "DesiredWithinRange"),
        (5, 2, (seconds_ago(400, 4),), 2, "ReadyForNewScale", "DesiredWithinRange"),
        (2, 9, (), 4, "ReadyForNewScale", "ScaleUpLimit"),
        (5, 99, (), 10, "ReadyForNewScale", "TooManyReplicas"),
        (2, 0, (), 1, "ReadyForNewScale", "TooFewReplicas"),
    ],
)
def test_limits_without_a_behavior(
    current: int, desired: int, past: tuple[Past, ...], expected: int, able: str, why: str
) -> None:
    found = limit(an_autoscaler(), Bounds(current, 1, 10), desired, Memory(past), NOW)
    assert (found.replicas, found.able[0], found.why[0]) == (expected, able, why)
    assert found.memory.recommendations[-1] == Past(NOW, desired)


def rules(*policies: tuple[str, int, int], select: str = "Max", window: int = 0) -> Obj:
    listed = [{"type": kind, "value": value, "periodSeconds": period} for kind, value, period in policies]
    return {"policies": listed, "selectPolicy": select, "stabilizationWindowSeconds": window}


@pytest.mark.parametrize(
    ("current", "desired", "up", "down", "memory", "expected", "why"),
    [
        (2, 9, rules(("Pods", 1, 60)), rules(), Memory(), 3, "ScaleUpLimit"),
        (2, 9, rules(("Pods", 1, 60), ("Percent", 100, 60)), rules(), Memory(), 4, "ScaleUpLimit"),
        (2, 9, rules(("Pods", 1, 60), ("Percent", 100, 60), select="Min"), rules(), Memory(), 3, "ScaleUpLimit"),
        (2, 9, rules(select="Disabled"), rules(), Memory(), 2, "ScaleUpLimit"),
        (4, 9, rules(("Pods", 3, 60)), rules(), Memory(grown=(seconds_ago(30, 2),)), 5, "ScaleUpLimit"),
        (4, 9, rules(("Pods", 3, 60)), rules(), Memory(grown=(seconds_ago(90, 2),)), 7, "ScaleUpLimit"),
        (9, 1, rules(), rules(("Percent", 50, 60)), Memory(), 4, "ScaleDownLimit"),
        (9, 1, rules(), rules(("Pods", 100, 60)), Memory(), 1, "DesiredWithinRange"),
        (9, 0, rules(), rules(("Pods", 100, 60)), Memory(), 1, "TooFewReplicas"),
        (4, 9, rules(("Pods", 9, 60), window=60), rules(), Memory((seconds_ago(30, 5),)), 5, "DesiredWithinRange"),
        (4, 1, rules(), rules(("Pods", 9, 60), window=60), Memory((seconds_ago(30, 3),)), 3, "DesiredWithinRange"),
    ],
)
def test_limits_with_a_behavior(
    current: int, desired: int, up: Obj, down: Obj, memory: Memory, expected: int, why: str
) -> None:
    autoscaler = an_autoscaler(behavior={"scaleUp": up, "scaleDown": down})
    found = limit(autoscaler, Bounds(current, 1, 10), desired, memory, NOW)
    assert (found.replicas, found.why[0]) == (expected, why)


def test_only_policies_remember_what_was_done() -> None:
    assert scaled(an_autoscaler(), Memory(), 2, 4, NOW) == Memory()
    behaved = an_autoscaler(behavior={"scaleUp": rules(("Pods", 1, 60)), "scaleDown": rules(("Pods", 1, 60))})
    assert scaled(behaved, Memory(grown=(seconds_ago(90, 1),)), 2, 4, NOW).grown == (Past(NOW, 2),)
    assert scaled(behaved, Memory(), 4, 1, NOW).shrunk == (Past(NOW, 3),)


@pytest.mark.parametrize(("text", "seconds"), [("30s", 30), ("1m0s", 60), ("20.5s", 20.5), ("500ms", 0.5), ("", 0)])
def test_windows_are_go_durations(text: str, seconds: float) -> None:
    (sample,) = samples([{**usage("p0"), "window": text}], "cpu").values()
    assert sample.window == timedelta(seconds=seconds)


def test_tolerance_may_be_set_for_each_direction() -> None:
    loose = {"scaleUp": {**rules(("Pods", 9, 60)), "tolerance": "0.7"}, "scaleDown": rules(("Pods", 9, 60))}
    assert decided("800m", "800m", autoscaler=an_autoscaler(behavior=loose)).resize is None
    assert decided("900m", "900m", autoscaler=an_autoscaler(behavior=loose)).resize == 4
