# SPDX-License-Identifier: Apache-2.0
"""Deployments and ReplicaSets: a number of equal pods, made from a template that the selector must match."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from springtide.api import whole_numbers
from springtide.api.field_errors import FieldError, forbidden, invalid, not_supported, required
from springtide.local.kinds import names
from springtide.local.kinds.columns import AGE, NAME, age_of, name_of, selector_text
from springtide.local.kinds.groups.policy import percent, validate_at_most_all, validate_number_or_percent
from springtide.local.kinds.label_selectors import Selector, SelectorError, from_object, quoted, validate_selector
from springtide.local.kinds.metadata import IMMUTABLE
from springtide.local.kinds.pod.pod_template import default_pod_template, validate_pod_template
from springtide.local.kinds.pod.pod_warnings import template_warnings
from springtide.local.kinds.strategy import Column, Obj, Strategy

_ROLLING, _RECREATE = "RollingUpdate", "Recreate"


def validate_counts(owner: Obj, fields: Sequence[str], path: str) -> list[FieldError]:
    """Fields that must not be negative, where they are set."""
    return [invalid(f"{path}.{field}", owner[field], names.NEGATIVE) for field in fields if (owner.get(field) or 0) < 0]


def template_cells(workload: Obj) -> tuple[str, str, str]:
    """CONTAINERS, IMAGES and SELECTOR of `-o wide`."""
    spec = workload.get("spec") or {}
    containers = (spec.get("template") or {}).get("spec", {}).get("containers") or ()
    return (
        ",".join(container.get("name", "") for container in containers),
        ",".join(container.get("image", "") for container in containers),
        selector_text(spec.get("selector")),
    )


def template_columns(selector: str) -> tuple[Column, ...]:
    return (
        Column("Containers", priority=1, description="Names of each container in the template."),
        Column("Images", priority=1, description="Images referenced by each container in the template."),
        Column("Selector", priority=1, description=selector),
    )


def keep_selector(new: Obj, old: Obj) -> list[FieldError]:
    selector = new["spec"].get("selector")
    if selector == old["spec"].get("selector"):
        return []
    return [invalid("spec.selector", quoted(selector), IMMUTABLE)]


def workload_warnings(workload: Obj) -> list[str]:
    """Warnings on creation only: controllers and scalers that update the object cannot change what they report."""
    if workload["metadata"].get("resourceVersion"):
        return []
    found: list[str] = []
    if complaints := names.dns_label(name_of(workload)):
        found.append(
            "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; "
            f"a DNS label is recommended: [{' '.join(complaints)}]"
        )
    return found + template_warnings(workload["spec"]["template"], "spec.template")


# ------------------------------------------------------------------------------------------- what both kinds share


def _default_spec(workload: Obj) -> Obj:
    spec: Obj = workload.setdefault("spec", {})
    if spec.get("replicas") is None:
        spec["replicas"] = 1
    default_pod_template(spec.setdefault("template", {}))
    return spec


def _validate_selector(spec: Obj) -> list[FieldError]:
    selector = spec.get("selector")
    if selector is None:
        return [required("spec.selector")]
    errors = validate_selector(selector, "spec.selector")
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        errors.append(invalid("spec.selector", quoted(selector), "empty selector is invalid for deployment"))
    return errors


def _validate_template(spec: Obj) -> list[FieldError]:
    try:
        selector = from_object(spec.get("selector"))
    except SelectorError:
        return [invalid("spec.selector", quoted(spec.get("selector")), "invalid label selector")]
    template = spec["template"]
    pod = template.get("spec") or {}
    errors = validate_template_labels(template, selector)
    errors += validate_pod_template(template, "spec.template")
    if (policy := pod.get("restartPolicy", "")) != "Always":
        errors.append(not_supported("spec.template.spec.restartPolicy", policy, ("Always",)))
    if pod.get("activeDeadlineSeconds") is not None:
        detail = "activeDeadlineSeconds in ReplicaSet is not Supported"
        errors.append(forbidden("spec.template.spec.activeDeadlineSeconds", detail))
    return errors


def validate_template_labels(template: Obj, selector: Selector) -> list[FieldError]:
    labels = (template.get("metadata") or {}).get("labels")
    if selector.empty or selector.matches(labels):
        return []
    shown = dict(sorted(labels.items())) if labels else None
    return [invalid("spec.template.metadata.labels", shown, "`selector` does not match template `labels`")]


def _validate_replica_status(status: Obj, parts: Sequence[str]) -> list[FieldError]:
    """The number of `parts` cannot exceed that of all replicas, nor that of available replicas the ready ones."""
    errors: list[FieldError] = []
    for field in parts:
        if (count := status.get(field, 0)) > status.get("replicas", 0):
            errors.append(invalid(f"status.{field}", count, "cannot be greater than status.replicas"))
    if (available := status.get("availableReplicas", 0)) > status.get("readyReplicas", 0):
        errors.append(invalid("status.availableReplicas", available, "cannot be greater than readyReplicas"))
    return errors


# -------------------------------------------------------------------------------------------------------- deployments


def _default_deployment(deployment: Obj) -> None:
    spec = _default_spec(deployment)
    strategy = spec.setdefault("strategy", {})
    if not strategy.get("type"):
        strategy["type"] = _ROLLING
    if strategy["type"] == _ROLLING:
        rolling = strategy.get("rollingUpdate") or {}
        strategy["rollingUpdate"] = rolling
        for field in ("maxUnavailable", "maxSurge"):
            if rolling.get(field) is None:
                rolling[field] = "25%"
    if spec.get("revisionHistoryLimit") is None:
        spec["revisionHistoryLimit"] = 10
    if spec.get("progressDeadlineSeconds") is None:
        spec["progressDeadlineSeconds"] = 600


def _create_deployment(deployment: Obj) -> None:
    deployment["status"] = {}


def _update_deployment(new: Obj, old: Obj) -> None:
    meta, before = new["metadata"], old["metadata"]
    if (meta.get("annotations") or {}) != (before.get("annotations") or {}):
        # Annotations are copied to the replica sets, so the controller must reconcile.
        meta["generation"] = before.get("generation", 0) + 1


def _validate_deployment(deployment: Obj) -> list[FieldError]:
    spec = deployment["spec"]
    seconds, deadline = spec.get("minReadySeconds") or 0, spec["progressDeadlineSeconds"]
    errors = validate_counts(spec, ("replicas",), "spec")
    errors += _validate_selector(spec) + _validate_template(spec) + _validate_strategy(spec["strategy"])
    errors += validate_counts(spec, ("minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"), "spec")
    if deadline <= seconds:
        errors.append(invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"))
    return errors


def _validate_strategy(strategy: Obj) -> list[FieldError]:
    kind, rolling = strategy["type"], strategy.get("rollingUpdate")
    if kind == _RECREATE:
        if rolling is None:
            return []
        detail = "may not be specified when strategy `type` is 'Recreate'"
        return [forbidden("spec.strategy.rollingUpdate", detail)]
    if kind == _ROLLING:
        return _validate_rolling(rolling or {})
    shown = {"Type": kind, "RollingUpdate": None}
    if rolling is not None:
        shown["RollingUpdate"] = {
            "MaxUnavailable": rolling.get("maxUnavailable", 0),
            "MaxSurge": rolling.get("maxSurge", 0),
        }
    return [not_supported("spec.strategy", shown, (_RECREATE, _ROLLING))]


def _validate_rolling(rolling: Obj) -> list[FieldError]:
    path = "spec.strategy.rollingUpdate"
    unavailable, surge = rolling["maxUnavailable"], rolling["maxSurge"]
    errors = validate_number_or_percent(unavailable, f"{path}.maxUnavailable")
    errors += validate_number_or_percent(surge, f"{path}.maxSurge")
    if _is_zero(unavailable) and _is_zero(surge):
        detail = "may not be 0 when `maxSurge` is 0"
        errors.append(invalid(f"{path}.maxUnavailable", unavailable, detail))
    return errors + validate_at_most_all(unavailable, f"{path}.maxUnavailable")


def _is_zero(value: int | str) -> bool:
    """As in Go: text that is neither a percentage nor a number counts as zero."""
    if isinstance(value, int):
        return value == 0
    share = percent(value)
    if share is not None:
        return share == 0
    return not whole_numbers.parse(value)


def _validate_deployment_status(new: Obj, old: Obj) -> list[FieldError]:
    status = new.get("status") or {}
    errors = validate_counts(status, _DEPLOYMENT_COUNTS, "status")
    errors += _validate_replica_status(status, ("updatedReplicas", "readyReplicas", "availableReplicas"))
    collisions = status.get("collisionCount") or 0
    if collisions < ((old.get("status") or {}).get("collisionCount") or 0):
        errors.append(invalid("status.collisionCount", collisions, "cannot be decremented"))
    return errors


_DEPLOYMENT_COUNTS = (
    "observedGeneration",
    "replicas",
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
    "unavailableReplicas",
    "terminatingReplicas",
    "collisionCount",
)


def _keep_labels(new: Obj, old: Obj) -> None:
    """Keep a deployment's labels, which cannot be changed through its status."""
    labels = old["metadata"].get("labels")
    if labels is None:
        new["metadata"].pop("labels", None)
    else:
        new["metadata"]["labels"] = labels


def _deployment_cells(deployment: Obj, now: str) -> Sequence[Any]:
    status = deployment.get("status") or {}
    return (
        name_of(deployment),
        f"{status.get('readyReplicas', 0)}/{deployment['spec'].get('replicas', 0)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        age_of(deployment, now),
        *template_cells(deployment),
    )


DEPLOYMENT = Strategy(
    default=_default_deployment,
    prepare_create=_create_deployment,
    prepare_update=_update_deployment,
    validate=_validate_deployment,
    validate_update=keep_selector,
    prepare_status=_keep_labels,
    validate_status=_validate_deployment_status,
    has_status=True,
    has_generation=True,
    columns=(
        NAME,
        Column("Ready", description="Number of the pod with ready state"),
        Column(
            "Up-to-date",
            description="Total number of non-terminating pods targeted by this deployment that have the desired "
            "template spec.",
        ),
        Column(
            "Available",
            description="Total number of available non-terminating pods (ready for at least minReadySeconds) targeted "
            "by this deployment.",
        ),
        AGE,
        *template_columns(
            "Label selector for pods. Existing ReplicaSets whose pods are selected by this will be the ones affected "
            "by this deployment. It must match the pod template's labels."
        ),
    ),
    cells=_deployment_cells,
    warnings=workload_warnings,
)


# ------------------------------------------------------------------------------------------------------- replica sets


def _default_replica_set(replica_set: Obj) -> None:
    _default_spec(replica_set)


def _create_replica_set(replica_set: Obj) -> None:
    replica_set["status"] = {"replicas": 0}


def _validate_replica_set(replica_set: Obj) -> list[FieldError]:
    spec = replica_set["spec"]
    errors = validate_counts(spec, ("replicas", "minReadySeconds"), "spec")
    return errors + _validate_selector(spec) + _validate_template(spec)


def _validate_replica_set_status(new: Obj, old: Obj) -> list[FieldError]:
    status = new.get("status") or {}
    errors = validate_counts(status, _REPLICA_SET_COUNTS, "status")
    return errors + _validate_replica_status(status, ("fullyLabeledReplicas", "readyReplicas", "availableReplicas"))


_REPLICA_SET_COUNTS = (
    "replicas",
    "fullyLabeledReplicas",
    "readyReplicas",
    "availableReplicas",
    "observedGeneration",
    "terminatingReplicas",
)


def _replica_set_cells(replica_set: Obj, now: str) -> Sequence[Any]:
    status = replica_set.get("status") or {}
    return (
        name_of(replica_set),
        replica_set["spec"].get("replicas", 0),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        age_of(replica_set, now),
        *template_cells(replica_set),
    )


REPLICA_SET = Strategy(
    default=_default_replica_set,
    prepare_create=_create_replica_set,
    validate=_validate_replica_set,
    validate_update=keep_selector,
    validate_status=_validate_replica_set_status,
    has_status=True,
    has_generation=True,
    columns=(
        NAME,
        Column(
            "Desired",
            type="integer",
            description="Replicas is the number of desired pods. This is a pointer to distinguish between explicit "
            "zero and unspecified. Defaults to 1. More info: "
            "https://kubernetes.io/docs/concepts/workloads/controllers/replicaset",
        ),
        Column(
            "Current",
            type="integer",
            description="Replicas is the most recently observed number of non-terminating pods. More info: "
            "https://kubernetes.io/docs/concepts/workloads/controllers/replicaset",
        ),
        Column(
            "Ready",
            type="integer",
            description="The number of non-terminating pods targeted by this ReplicaSet with a Ready Condition.",
        ),
        AGE,
        *template_columns(
            "Selector is a label query over pods that should match the replica count. Label keys and values that must "
            "match in order to be controlled by this replica set. It must match the pod template's labels. More info: "
            "https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors"
        ),
    ),
    cells=_replica_set_cells,
    warnings=workload_warnings,
)
