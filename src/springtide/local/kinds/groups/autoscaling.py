# SPDX-License-Identifier: Apache-2.0
"""Horizontal pod autoscalers (v2, and the part of v1 that old clients need) and the Scale of scalable kinds.

The controller manager computes the scaling; here an autoscaler is only defaulted, validated and shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from springtide.api import quantity
from springtide.api.field_errors import FieldError, forbidden, invalid, not_supported, required
from springtide.local.kinds import names
from springtide.local.kinds.columns import AGE, NAME, UNKNOWN, UNSET, age_of, name_of
from springtide.local.kinds.pod.containers_resources import validate_container_name
from springtide.local.kinds.strategy import Column, Obj, Strategy

_MAX_PERIOD, _MAX_WINDOW = 1800, 3600
_SELECT_POLICIES = ("Disabled", "Max", "Min")
_POLICY_TYPES = ("Percent", "Pods")
_TARGET_TYPES = ("Utilization", "Value", "AverageValue")
DEFAULT_CPU_UTILIZATION = 80


# ----------------------------------------------------------------------------------------------------------- defaults


def _default(autoscaler: Obj) -> None:
    spec = autoscaler.setdefault("spec", {})
    if spec.get("minReplicas") is None:
        spec["minReplicas"] = 1
    if not spec.get("metrics"):
        spec["metrics"] = [_cpu_metric(DEFAULT_CPU_UTILIZATION)]
    if (behavior := spec.get("behavior")) is not None:
        behavior["scaleUp"] = _complete(behavior.get("scaleUp"), _scale_up())
        behavior["scaleDown"] = _complete(behavior.get("scaleDown"), _scale_down())


def _cpu_metric(utilization: int) -> Obj:
    target = {"type": "Utilization", "averageUtilization": utilization}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def _scale_up() -> Obj:
    policies = [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ]
    return {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": policies}


def _scale_down() -> Obj:
    return {"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]}


def _complete(rules: Obj | None, defaults: Obj) -> Obj:
    return defaults | {key: value for key, value in (rules or {}).items() if value is not None}


def _prepare_create(autoscaler: Obj) -> None:
    autoscaler["status"] = {"desiredReplicas": 0, "currentMetrics": None}


# --------------------------------------------------------------------------------------------------------- validation


def _validate(autoscaler: Obj) -> list[FieldError]:
    spec = autoscaler["spec"]
    least, most = spec["minReplicas"], spec.get("maxReplicas") or 0
    errors: list[FieldError] = []
    if least < 1:
        errors.append(invalid("spec.minReplicas", least, "must be greater than or equal to 1"))
    if most == 0:
        errors.append(required("spec.maxReplicas", "must be set and greater than 0"))
    elif most < 0:
        errors.append(invalid("spec.maxReplicas", most, "must be greater than or equal to 1"))
    if most < least:
        errors.append(invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`"))
    target = spec.get("scaleTargetRef") or {}
    errors += _validate_reference(target, "spec.scaleTargetRef", target.get("kind") == "ReplicationController")
    errors += _validate_metrics(spec["metrics"], least)
    behavior = spec.get("behavior") or {}
    for direction in ("scaleUp", "scaleDown"):
        if rules := behavior.get(direction):
            errors += _validate_rules(rules, f"spec.behavior.{direction}")
    return errors


def _validate_reference(reference: Obj, path: str, core_allowed: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    for field in ("kind", "name"):
        value = reference.get(field, "")
        if not value:
            errors.append(required(f"{path}.{field}"))
        errors += [invalid(f"{path}.{field}", value, why) for why in names.path_segment(value)]
    version = reference.get("apiVersion", "")
    if version.count("/") > 1:
        errors.append(invalid(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}"))
    elif not core_allowed and not version.rpartition("/")[0]:
        errors.append(invalid(f"{path}.apiVersion", version, "apiVersion must specify API group"))
    return errors


def _validate_metrics(metrics: Sequence[Obj], least: int) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, metric in enumerate(metrics):
        errors += _validate_metric(metric, f"spec.metrics[{index}]")
    if least == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
        detail = "must specify at least one Object or External metric to support scaling to zero replicas"
        errors.append(forbidden("spec.metrics", detail))
    return errors


def _validate_metric(metric: Obj, path: str) -> list[FieldError]:
    kind = metric.get("type", "")
    errors = [] if kind else [required(f"{path}.type", "must specify a metric source type")]
    known = tuple(sorted(_SOURCE_FIELDS))
    if kind not in _SOURCE_FIELDS:
        errors += [not_supported(f"{path}.type", kind, known)] * 2  # listed twice, as by kube-apiserver
    present = [field for field in _SOURCES if metric.get(field) is not None]
    if present:
        errors += _SOURCES[present[0]](metric[present[0]], f"{path}.{present[0]}")
    expected = _SOURCE_FIELDS.get(kind)
    if expected is not None and expected not in present:
        errors.append(required(f"{path}.{expected}", "must populate information for the given metric source"))
    if len(present) != 1:
        others = (field for field in present if field != expected)
        errors += [forbidden(f"{path}.{field}", "must populate the given metric source only") for field in others]
    return errors


def _validate_object(source: Obj, path: str) -> list[FieldError]:
    target = source.get("target") or {}
    errors = _validate_reference(source.get("describedObject") or {}, f"{path}.describedObject", True)
    errors += _validate_identifier(source, path) + _validate_target(target, f"{path}.target")
    if target.get("value") is None and target.get("averageValue") is None:
        errors.append(required(f"{path}.target.averageValue", "must set either a target value or averageValue"))
    return errors


def _validate_external(source: Obj, path: str) -> list[FieldError]:
    target = source.get("target") or {}
    value, average = target.get("value"), target.get("averageValue")
    errors = _validate_identifier(source, path) + _validate_target(target, f"{path}.target")
    if value is None and average is None:
        detail = "must set either a target value for metric or a per-pod target"
        errors.append(required(f"{path}.target.averageValue", detail))
    if value is not None and average is not None:
        detail = "may not set both a target value for metric and a per-pod target"
        errors.append(forbidden(f"{path}.target.value", detail))
    return errors


def _validate_pods(source: Obj, path: str) -> list[FieldError]:
    target = source.get("target") or {}
    errors = _validate_identifier(source, path) + _validate_target(target, f"{path}.target")
    if target.get("averageValue") is None:
        errors.append(required(f"{path}.target.averageValue", "must specify a positive target averageValue"))
    return errors


def _validate_resource(source: Obj, path: str) -> list[FieldError]:
    errors = [] if source.get("name") else [required(f"{path}.name", "must specify a resource name")]
    return errors + _validate_resource_target(source.get("target") or {}, f"{path}.target")


def _validate_container_resource(source: Obj, path: str) -> list[FieldError]:
    name, container = source.get("name", ""), source.get("container", "")
    if name:
        errors = validate_container_name(name, f"{path}.name")
    else:
        errors = [required(f"{path}.name", "must specify a resource name")]
    if container:
        errors += [invalid(f"{path}.container", container, why) for why in names.dns_label(container)]
    else:
        errors.append(required(f"{path}.container", "must specify a container"))
    return errors + _validate_resource_target(source.get("target") or {}, f"{path}.target")


def _validate_resource_target(target: Obj, path: str) -> list[FieldError]:
    errors = _validate_target(target, path)
    utilization, average = target.get("averageUtilization"), target.get("averageValue")
    if utilization is None and average is None:
        detail = "must set either a target raw value or a target utilization"
        errors.append(required(f"{path}.averageUtilization", detail))
    if utilization is not None and average is not None:
        detail = "may not set both a target raw value and a target utilization"
        errors.append(forbidden(f"{path}.averageValue", detail))
    return errors


def _validate_identifier(source: Obj, path: str) -> list[FieldError]:
    name = (source.get("metric") or {}).get("name", "")
    if not name:
        return [required(f"{path}.metric.name", "must specify a metric name")]
    return [invalid(f"{path}.metric.name", name, why) for why in names.path_segment(name)]


def _validate_target(target: Obj, path: str) -> list[FieldError]:
    kind = target.get("type", "")
    errors = [] if kind else [required(f"{path}.type", "must specify a metric target type")]
    if kind not in _TARGET_TYPES:
        errors.append(invalid(f"{path}.type", kind, "must be either Utilization, Value, or AverageValue"))
    for field in ("value", "averageValue"):
        amount = target.get(field)
        if amount is not None and quantity.parse(str(amount)).nanos <= 0:
            errors.append(invalid(f"{path}.{field}", amount, "must be positive"))
    utilization = target.get("averageUtilization")
    if utilization is not None and utilization < 1:
        errors.append(invalid(f"{path}.averageUtilization", utilization, "must be greater than 0"))
    return errors


_SOURCES: Mapping[str, Callable[[Obj, str], list[FieldError]]] = {
    "object": _validate_object,
    "external": _validate_external,
    "pods": _validate_pods,
    "resource": _validate_resource,
    "containerResource": _validate_container_resource,
}
_SOURCE_FIELDS = {field[0].upper() + field[1:]: field for field in _SOURCES}


def _validate_rules(rules: Obj, path: str) -> list[FieldError]:
    window, select = rules.get("stabilizationWindowSeconds"), rules.get("selectPolicy")
    errors: list[FieldError] = []
    if window is not None and window < 0:
        detail = "must be greater than or equal to zero"
        errors.append(invalid(f"{path}.stabilizationWindowSeconds", window, detail))
    if window is not None and window > _MAX_WINDOW:
        detail = f"must be less than or equal to {_MAX_WINDOW}"
        errors.append(invalid(f"{path}.stabilizationWindowSeconds", window, detail))
    if select is not None and select not in _SELECT_POLICIES:
        errors.append(not_supported(f"{path}.selectPolicy", select, _SELECT_POLICIES))
    policies = rules.get("policies") or ()
    if not policies:
        errors.append(required(f"{path}.policies", "must specify at least one Policy"))
    for index, policy in enumerate(policies):
        errors += _validate_policy(policy, f"{path}.policies[{index}]")
    tolerance = rules.get("tolerance")
    if tolerance is not None and quantity.parse(str(tolerance)).nanos < 0:
        errors.append(invalid(f"{path}.tolerance", tolerance, names.NEGATIVE))
    return errors


def _validate_policy(policy: Obj, path: str) -> list[FieldError]:
    kind, value, period = policy.get("type", ""), policy.get("value", 0), policy.get("periodSeconds", 0)
    errors: list[FieldError] = []
    if kind not in _POLICY_TYPES:
        errors.append(not_supported(f"{path}.type", kind, _POLICY_TYPES))
    if value <= 0:
        errors.append(invalid(f"{path}.value", value, "must be greater than zero"))
    if period <= 0:
        errors.append(invalid(f"{path}.periodSeconds", period, "must be greater than zero"))
    if period > _MAX_PERIOD:
        errors.append(invalid(f"{path}.periodSeconds", period, f"must be less than or equal to {_MAX_PERIOD}"))
    return errors


def _validate_status(new: Obj, old: Obj) -> list[FieldError]:
    status = new.get("status") or {}
    return [
        invalid(f"status.{field}", status[field], names.NEGATIVE)
        for field in ("currentReplicas", "desiredReplicas")
        if (status.get(field) or 0) < 0
    ]


# -------------------------------------------------------------------------------------------------------------- table

_COLUMNS = (
    NAME,
    Column(
        "Reference",
        description="scaleTargetRef points to the target resource to scale, and is used to the pods for which metrics "
        "should be collected, as well as to actually change the replica count.",
    ),
    Column(
        "Targets",
        description="metrics contains the specifications for which to use to calculate the desired replica count (the "
        "maximum replica count across all metrics will be used).  The desired replica count is calculated multiplying "
        "the ratio between the target value and the current value by the current number of pods.  Ergo, metrics used "
        "must decrease as the pod count is increased, and vice-versa.  See the individual metric source types for more "
        "information about how each type of metric must respond. If not set, the default metric will be set to 80% "
        "average CPU utilization.",
    ),
    Column(
        "MinPods",
        description="minReplicas is the lower limit for the number of replicas to which the autoscaler can scale "
        "down.  It defaults to 1 pod.  minReplicas is allowed to be 0 if the alpha feature gate HPAScaleToZero is "
        "enabled and at least one Object or External metric is configured.  Scaling is active as long as at least one "
        "metric value is available.",
    ),
    Column(
        "MaxPods",
        description="maxReplicas is the upper limit for the number of replicas to which the autoscaler can scale up. "
        "It cannot be less that minReplicas.",
    ),
    Column(
        "Replicas",
        description="currentReplicas is current number of replicas of pods managed by this autoscaler, as last seen by "
        "the autoscaler.",
    ),
    AGE,
)


def _cells(autoscaler: Obj, now: str) -> Sequence[Any]:
    spec, status = autoscaler.get("spec") or {}, autoscaler.get("status") or {}
    target, least = spec.get("scaleTargetRef") or {}, spec.get("minReplicas")
    return (
        name_of(autoscaler),
        f"{target.get('kind', '')}/{target.get('name', '')}",
        targets_text(spec.get("metrics") or (), status.get("currentMetrics") or ()),
        UNSET if least is None else str(least),
        spec.get("maxReplicas", 0),
        status.get("currentReplicas", 0),
        age_of(autoscaler, now),
    )


def targets_text(metrics: Sequence[Obj], current: Sequence[Obj]) -> str:
    """Current and target values: `cpu: 12%/80%, 3/5 (avg) + 1 more...`."""
    if not metrics:
        return "<none>"
    shown = [
        _target_text(metric, current[index] if index < len(current) else {}) for index, metric in enumerate(metrics[:2])
    ]
    more = f" + {len(metrics) - 2} more..." if len(metrics) > 2 else ""
    return ", ".join(shown) + more


def _target_text(metric: Obj, status: Obj) -> str:
    field = _SOURCE_FIELDS.get(metric.get("type", ""))
    if field is None:
        return "<unknown type>"
    source = metric.get(field) or {}
    wanted, actual = source.get("target") or {}, (status.get(field) or {}).get("current")
    average = wanted.get("averageValue")
    if field in ("resource", "containerResource"):
        return f"{source.get('name', '')}: {_resource_text(wanted, actual)}"
    if field == "pods":
        return f"{_amount(actual, 'averageValue')}/{average}"
    if average is not None:
        return f"{_amount(actual, 'averageValue')}/{average} (avg)"
    return f"{_amount(actual, 'value')}/{wanted.get('value')}"


def _resource_text(wanted: Obj, actual: Obj | None) -> str:
    if (average := wanted.get("averageValue")) is not None:
        return f"{_amount(actual, 'averageValue')}/{average}"
    now, goal = (actual or {}).get("averageUtilization"), wanted.get("averageUtilization")
    return f"{UNKNOWN if now is None else f'{now}%'}/{'<auto>' if goal is None else f'{goal}%'}"


def _amount(current: Obj | None, field: str) -> str:
    value = (current or {}).get(field)
    return UNKNOWN if value is None else str(value)


# ----------------------------------------------------------------------------------------------- version 1 and Scale


def from_v1(autoscaler: Obj) -> Obj:
    """Convert v1, as sent by older `kubectl autoscale`, to v2. The only metric in v1 is CPU utilization."""
    spec = dict(autoscaler.get("spec") or {})
    utilization = spec.pop("targetCPUUtilizationPercentage", None)
    if utilization is not None:
        spec["metrics"] = [_cpu_metric(utilization)]
    status = dict(autoscaler.get("status") or {})
    current = status.pop("currentCPUUtilizationPercentage", None)
    if current is not None:
        status["currentMetrics"] = [
            {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": current}}}
        ]
    return autoscaler | {"spec": spec, "status": status}


def to_v1(autoscaler: Obj) -> Obj:
    """The object for v1 readers; v1 lacks other metrics, behavior and conditions, which are omitted."""
    spec, status = dict(autoscaler.get("spec") or {}), dict(autoscaler.get("status") or {})
    spec.pop("behavior", None)
    status.pop("conditions", None)
    for metric in spec.pop("metrics", None) or ():
        utilization = _cpu(metric).get("target", {}).get("averageUtilization")
        if utilization is not None:
            spec["targetCPUUtilizationPercentage"] = utilization
    for metric in status.pop("currentMetrics", None) or ():
        utilization = _cpu(metric).get("current", {}).get("averageUtilization")
        if utilization is not None:
            status["currentCPUUtilizationPercentage"] = utilization
    status.setdefault("currentReplicas", 0)
    status.setdefault("desiredReplicas", 0)
    return autoscaler | {"spec": spec, "status": status}


def _cpu(metric: Obj) -> Obj:
    resource: Obj = metric.get("resource") or {}
    return resource if metric.get("type") == "Resource" and resource.get("name") == "cpu" else {}


def _validate_scale(scale: Obj) -> list[FieldError]:
    replicas = (scale.get("spec") or {}).get("replicas") or 0
    return [invalid("spec.replicas", replicas, names.NEGATIVE)] if replicas < 0 else []


HORIZONTAL_POD_AUTOSCALER = Strategy(
    default=_default,
    prepare_create=_prepare_create,
    validate=_validate,
    validate_status=_validate_status,
    has_status=True,
    columns=_COLUMNS,
    cells=_cells,
)


def _default_v1(autoscaler: Obj) -> None:
    autoscaler["spec"].setdefault("minReplicas", 1)


def _prepare_v1(autoscaler: Obj) -> None:
    autoscaler["status"] = {"currentReplicas": 0, "desiredReplicas": 0}


def stored_from_v1(autoscaler: Obj) -> Obj:
    """An object created by a v1 client as it is stored: as v2 and with its defaults."""
    stored = from_v1(autoscaler)
    _default(stored)
    return stored


HORIZONTAL_POD_AUTOSCALER_V1 = Strategy(
    default=_default_v1,
    prepare_create=_prepare_v1,
    validate=lambda autoscaler: _validate(stored_from_v1(autoscaler)),
    has_status=True,
    columns=_COLUMNS,
    cells=lambda autoscaler, now: _cells(from_v1(autoscaler), now),
)
SCALE = Strategy(validate=_validate_scale)
