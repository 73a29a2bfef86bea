# SPDX-License-Identifier: Apache-2.0
"""Batch Jobs: the generated selector, validation, and immutable fields.

Their two policies are in `batch_policies`, the transitions of their status in `batch_status`. Springtide's training
jobs are custom resources and are not handled here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

from springtide.api.field_errors import FieldError, invalid, not_supported, required, too_long
from springtide.local.kinds import names
from springtide.local.kinds.columns import AGE, NAME, age_of, name_of, since
from springtide.local.kinds.groups.apps import (
    template_cells,
    template_columns,
    validate_counts,
    validate_template_labels,
    workload_warnings,
)
from springtide.local.kinds.groups.batch_policies import (
    quoted_failure_policy,
    quoted_success_policy,
    validate_pod_failure_policy,
    validate_pod_replacement_policy,
    validate_success_policy,
)
from springtide.local.kinds.groups.batch_status import condition_is, validate_job_status
from springtide.local.kinds.label_selectors import SelectorError, from_object, quoted, validate_selector
from springtide.local.kinds.metadata import IMMUTABLE
from springtide.local.kinds.pod.pod_template import default_pod_template, validate_pod_template
from springtide.local.kinds.strategy import Column, Obj, Strategy

_NAME_LABELS = ("job-name", "batch.kubernetes.io/job-name")
_UID_LABELS = ("controller-uid", "batch.kubernetes.io/controller-uid")
_UID_LABEL = "batch.kubernetes.io/controller-uid"
_INDEXED, _NON_INDEXED = "Indexed", "NonIndexed"
_MAX_INDEXED_PARALLELISM = _MAX_FAILED_INDEXES = _MANY_COMPLETIONS = 100_000
_MAX_PARALLELISM_OF_MANY = _MAX_FAILED_OF_MANY = 10_000
_MAX_MANAGED_BY = 63
_MAX_INT32 = 2**31 - 1


# ------------------------------------------------------------------------------------------------ defaults and labels


def _default(job: Obj) -> None:
    spec = job.setdefault("spec", {})
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    if spec.get("parallelism") is None:
        spec["parallelism"] = 1
    if spec.get("backoffLimit") is None:
        spec["backoffLimit"] = 6 if spec.get("backoffLimitPerIndex") is None else _MAX_INT32
    for field, value in (("completionMode", _NON_INDEXED), ("suspend", False), ("manualSelector", False)):
        if spec.get(field) is None:
            spec[field] = value
    _default_policies(spec)
    template = spec.setdefault("template", {})
    default_pod_template(template)
    labels = (template.get("metadata") or {}).get("labels")
    if labels and not job["metadata"].get("labels"):
        # The same object, not a copy: kube-apiserver's generated labels appear on the job as well.
        job["metadata"]["labels"] = labels


def _default_policies(spec: Obj) -> None:
    failure = spec.get("podFailurePolicy")
    if spec.get("podReplacementPolicy") is None:
        spec["podReplacementPolicy"] = "TerminatingOrFailed" if failure is None else "Failed"
    for rule in (failure or {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            if not pattern.get("status"):
                pattern["status"] = "True"


def _prepare_create(job: Obj) -> None:
    job["status"] = {}
    if not job["spec"]["manualSelector"]:
        _generate_selector(job)


def _generate_selector(job: Obj) -> None:
    """Generate labels that no other job's pods have. Labels set by the user are kept, and rejected later if invalid.

    Nothing below the job itself is changed in place: it may be created again under another generated name.
    """
    meta, spec = job["metadata"], job["spec"]
    template = spec["template"]
    template_meta = template.get("metadata") or {}
    given = template_meta.get("labels") or {}
    labels = dict.fromkeys(_NAME_LABELS, name_of(job)) | dict.fromkeys(_UID_LABELS, meta["uid"]) | given
    if not meta.get("labels") or meta["labels"] is given:
        meta["labels"] = dict(labels)
    selector = spec.get("selector") or {}
    matched = {_UID_LABEL: meta["uid"]} | (selector.get("matchLabels") or {})
    job["spec"] = spec | {
        "selector": selector | {"matchLabels": matched},
        "template": template | {"metadata": template_meta | {"labels": labels}},
    }


# --------------------------------------------------------------------------------------------------------- validation


def _validate(job: Obj) -> list[FieldError]:
    spec = job["spec"]
    errors = _validate_generated_selector(job) + _validate_spec(spec) + _validate_selector(spec)
    completions = spec.get("completions") or 0
    if spec["completionMode"] == _INDEXED and completions > 0:
        # Pods of an indexed job are named after it and their index.
        name = name_of(job)
        longest = f"{name}-{completions - 1}"
        if names.dns_label(longest):
            detail = f"will not able to create pod with invalid DNS label: {longest}"
            errors.append(invalid("metadata.name", name, detail))
    return errors


def _validate_generated_selector(job: Obj) -> list[FieldError]:
    meta, spec = job["metadata"], job["spec"]
    if spec["manualSelector"] or spec.get("selector") is None:
        return []
    labels = (spec["template"].get("metadata") or {}).get("labels") or {}
    expected = dict.fromkeys(_UID_LABELS, meta["uid"]) | dict.fromkeys(_NAME_LABELS, name_of(job))
    errors: list[FieldError] = []
    for label in (_UID_LABELS[0], _NAME_LABELS[0], _UID_LABELS[1], _NAME_LABELS[1]):
        if label not in labels:
            detail = f"must be '{expected[label]}'"
            errors.append(required(f"spec.template.metadata.labels[{label}]", detail))
        elif labels[label] != expected[label]:
            detail = f"must be '{expected[label]}'"
            errors.append(invalid(f"spec.template.metadata.labels[{label}]", dict(sorted(labels.items())), detail))
    try:
        generated = from_object(spec["selector"]).matches(expected)
    except SelectorError:
        generated = True  # reported elsewhere
    if not generated:
        errors.append(invalid("spec.selector", quoted(spec["selector"]), "`selector` not auto-generated"))
    return errors


def _validate_selector(spec: Obj) -> list[FieldError]:
    selector = spec.get("selector")
    errors = validate_selector(selector, "spec.selector") if selector is not None else [required("spec.selector")]
    try:
        parsed = from_object(selector)
    except SelectorError:
        return errors
    return errors + validate_template_labels(spec["template"], parsed)


def _validate_spec(spec: Obj) -> list[FieldError]:
    errors = validate_counts(
        spec,
        (
            "parallelism",
            "completions",
            "activeDeadlineSeconds",
            "backoffLimit",
            "ttlSecondsAfterFinished",
            "backoffLimitPerIndex",
            "maxFailedIndexes",
        ),
        "spec",
    )
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        errors.append(required("spec.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    if (manager := spec.get("managedBy")) is not None:
        errors += _validate_managed_by(manager)
    errors += _validate_completion_mode(spec)
    if spec.get("podFailurePolicy") is not None:
        errors += validate_pod_failure_policy(spec)
    if spec.get("successPolicy") is not None:
        errors += validate_success_policy(spec)
    errors += validate_pod_replacement_policy(spec)
    errors += validate_pod_template(spec["template"], "spec.template")
    return errors + _validate_restart_policy(spec)


def _validate_managed_by(manager: str) -> list[FieldError]:
    path = "spec.managedBy"
    if not manager:
        return [required(path)]
    host, _, rest = manager.partition("/")
    if host and rest:
        errors = [invalid(path, host, why) for why in names.dns_subdomain(host)]
    else:
        errors = [invalid(path, manager, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    if len(manager.encode()) > _MAX_MANAGED_BY:
        errors.append(too_long(path, _MAX_MANAGED_BY))
    return errors


def _validate_completion_mode(spec: Obj) -> list[FieldError]:
    mode = spec["completionMode"]
    if mode == _INDEXED:
        return _validate_indexed(spec)
    if mode != _NON_INDEXED:
        return [not_supported("spec.completionMode", mode, (_NON_INDEXED, _INDEXED))]
    errors: list[FieldError] = []
    for field in ("backoffLimitPerIndex", "maxFailedIndexes"):
        if (value := spec.get(field)) is not None:
            errors.append(invalid(f"spec.{field}", value, "requires indexed completion mode"))
    return errors


def _validate_indexed(spec: Obj) -> list[FieldError]:
    completions, failed = spec.get("completions"), spec.get("maxFailedIndexes")
    parallelism = spec["parallelism"]
    errors: list[FieldError] = []
    if completions is None:
        errors.append(required("spec.completions", f"when completion mode is {_INDEXED}"))
    if parallelism > _MAX_INDEXED_PARALLELISM:
        detail = f"must be less than or equal to {_MAX_INDEXED_PARALLELISM} when completion mode is {_INDEXED}"
        errors.append(invalid("spec.parallelism", parallelism, detail))
    if failed is not None and completions is not None and failed > completions:
        errors.append(invalid("spec.maxFailedIndexes", failed, "must be less than or equal to completions"))
    if failed is not None and failed > _MAX_FAILED_INDEXES:
        errors.append(invalid("spec.maxFailedIndexes", failed, f"must be less than or equal to {_MAX_FAILED_INDEXES}"))
    if (completions or 0) > _MANY_COMPLETIONS and spec.get("backoffLimitPerIndex") is not None:
        errors += _validate_many_completions(parallelism, failed)
    return errors


def _validate_many_completions(parallelism: int, failed: int | None) -> list[FieldError]:
    when = f"when completions are above {_MANY_COMPLETIONS} and used with backoff limit per index"
    errors: list[FieldError] = []
    if failed is None:
        detail = f"must be specified when completions is above {_MANY_COMPLETIONS}"
        errors.append(required("spec.maxFailedIndexes", detail))
    if parallelism > _MAX_PARALLELISM_OF_MANY:
        detail = f"must be less than or equal to {_MAX_PARALLELISM_OF_MANY} {when}"
        errors.append(invalid("spec.parallelism", parallelism, detail))
    if failed is not None and failed > _MAX_FAILED_OF_MANY:
        detail = f"must be less than or equal to {_MAX_FAILED_OF_MANY} {when}"
        errors.append(invalid("spec.maxFailedIndexes", failed, detail))
    return errors


def _validate_restart_policy(spec: Obj) -> list[FieldError]:
    path = "spec.template.spec.restartPolicy"
    policy = (spec["template"].get("spec") or {}).get("restartPolicy", "")
    if policy in ("", "Always"):
        # Always is the pod's own default for an unset policy.
        return [required(path, 'valid values: "OnFailure", "Never"')]
    if policy not in ("OnFailure", "Never"):
        return [not_supported(path, policy, ("OnFailure", "Never"))]
    if spec.get("podFailurePolicy") is not None and policy != "Never":
        return [invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')]
    return []


# ------------------------------------------------------------------------------------------------------------ updates


def _validate_update(new: Obj, old: Obj) -> list[FieldError]:
    spec, before = new["spec"], old["spec"]
    errors = _validate_selector(spec) + _validate_spec(spec)  # repeated, as in kube-apiserver
    errors += _validate_completions(spec, before)
    if spec.get("selector") != before.get("selector"):
        errors.append(invalid("spec.selector", quoted(spec.get("selector")), IMMUTABLE))
    errors += _validate_template_update(spec["template"], old)
    for field, show in _FROZEN:
        if spec.get(field) != before.get(field):
            errors.append(invalid(f"spec.{field}", show(spec.get(field)), IMMUTABLE))
    return errors


def _as_it_is(value: Any) -> Any:
    return value


_FROZEN: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    ("completionMode", _as_it_is),
    ("podFailurePolicy", quoted_failure_policy),
    ("backoffLimitPerIndex", _as_it_is),
    ("managedBy", _as_it_is),
    ("successPolicy", quoted_success_policy),
)


def _validate_completions(spec: Obj, before: Obj) -> list[FieldError]:
    completions = spec.get("completions")
    if completions == before.get("completions"):
        return []
    if spec["completionMode"] != _INDEXED:
        return [invalid("spec.completions", completions, IMMUTABLE)]
    if completions is None or completions == spec["parallelism"]:
        return []
    return [invalid("spec.completions", completions, "can only be modified in tandem with spec.parallelism")]


def _validate_template_update(template: Obj, old: Obj) -> list[FieldError]:
    """In a suspended job without pods, scheduling directives and resources may change; the rest is immutable."""
    spec, status = old["spec"], old.get("status") or {}
    stopped = status.get("startTime") is None or condition_is(status, "Suspended", "True")
    if not (spec.get("suspend") and stopped and not status.get("active")):
        return [] if template == spec["template"] else [invalid("spec.template", template, IMMUTABLE)]
    allowed = _with_directives(deepcopy(spec["template"]), template)
    pod, before = template.get("spec") or {}, allowed.get("spec") or {}
    for field in ("containers", "initContainers"):
        _take_resources(before.get(field) or [], pod.get(field) or [])
    return [] if pod == before else [invalid("spec.template.spec", pod, IMMUTABLE)]


def _with_directives(template: Obj, wanted: Obj) -> Obj:
    pod, wanted_pod = template["spec"], wanted.get("spec") or {}
    for field in ("nodeSelector", "tolerations", "schedulingGates"):
        _take(pod, wanted_pod, field)
    affinity, wanted_affinity = pod.get("affinity") or {}, wanted_pod.get("affinity") or {}
    _take(affinity, wanted_affinity, "nodeAffinity")
    if affinity or wanted_pod.get("affinity") is not None:
        pod["affinity"] = affinity
    else:
        pod.pop("affinity", None)
    return template


def _take(target: Obj, source: Obj, field: str) -> None:
    if source.get(field) is None:
        target.pop(field, None)
    else:
        target[field] = source[field]


def _take_resources(containers: list[Obj], wanted: list[Obj]) -> None:
    if len(containers) == len(wanted):
        for container, source in zip(containers, wanted, strict=True):
            if container.get("name") == source.get("name"):
                _take(container, source, "resources")


# -------------------------------------------------------------------------------------------------------------- table


def _status_word(job: Obj) -> str:
    status = job.get("status") or {}
    for condition in ("Complete", "Failed"):
        if condition_is(status, condition, "True"):
            return condition
    if job["metadata"].get("deletionTimestamp"):
        return "Terminating"
    for condition in ("Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if condition_is(status, condition, "True"):
            return condition
    return "Running"


def _completions_text(job: Obj) -> str:
    spec, done = job["spec"], (job.get("status") or {}).get("succeeded", 0)
    if (completions := spec.get("completions")) is not None:
        return f"{done}/{completions}"
    parallelism = spec.get("parallelism") or 0
    return f"{done}/1 of {parallelism}" if parallelism > 1 else f"{done}/1"


def _cells(job: Obj, now: str) -> Sequence[Any]:
    status = job.get("status") or {}
    start = status.get("startTime")
    return (
        name_of(job),
        _status_word(job),
        _completions_text(job),
        since(start, status.get("completionTime") or now) if start else "",
        age_of(job, now),
        *template_cells(job),
    )


def _warnings(job: Obj) -> list[str]:
    spec = job["spec"]
    if job["metadata"].get("resourceVersion"):
        return []
    many = (spec.get("completions") or 0) > _MANY_COMPLETIONS and spec["parallelism"] > _MAX_PARALLELISM_OF_MANY
    if spec["completionMode"] != _INDEXED or not many:
        return workload_warnings(job)
    return [
        *workload_warnings(job),
        "spec: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, "
        "Kubernetes might not be able to track completedIndexes when a big number of indexes fail",
    ]


JOB = Strategy(
    default=_default,
    prepare_create=_prepare_create,
    validate=_validate,
    validate_update=_validate_update,
    validate_status=validate_job_status,
    has_status=True,
    has_generation=True,
    columns=(
        NAME,
        Column("Status", description="Status of the job."),
        Column(
            "Completions",
            description="The number of pods which reached phase Succeeded. The value increases monotonically for a "
            "given spec. However, it may decrease in reaction to scale down of elastic indexed jobs.",
        ),
        Column("Duration", description="Time required to complete the job."),
        AGE,
        *template_columns(
            "A label query over pods that should match the pod count. Normally, the system sets this field for you. "
            "More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors"
        ),
    ),
    cells=_cells,
    fields={"status.successful": lambda job: str((job.get("status") or {}).get("succeeded", 0))},
    warnings=_warnings,
)
