# SPDX-License-Identifier: Apache-2.0
"""Validation rules that all of Kubeflow's kinds share, in upstream's wording."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

import msgspec

from springtide.api import quantity
from springtide.api.bounds import Bounds, limit_advice
from springtide.api.field_errors import FieldError, invalid, not_supported, required, type_invalid
from springtide.api.kinds.elastic_policy import ElasticPolicy
from springtide.api.kinds.fields import Wire
from springtide.api.kinds.pod_parts import Parts
from springtide.api.kinds.replicas import WORKER, ReplicaSpec, RestartPolicy, by_role, canonical
from springtide.api.kinds.run_policy import CleanPodPolicy, RunLimits, RunPolicy, SchedulingPolicy
from springtide.api.kinds.templates import Container, Named, Resources, Template, containers_of
from springtide.api.names import label_complaints

MESSAGE_LIMIT: Final = 1024
_NEGATIVE: Final = "must be greater than or equal to 0"
_AT_LEAST_ONE: Final = "must be greater than or equal to 1"
_PLACE: Final = re.compile(r"(?P<why>.*?) - at (?:`key` in )?`\$\.?(?P<field>.*)`", re.DOTALL)
_OTHER_TYPE: Final = re.compile(r"Expected `(?P<wanted>\w+)(?: \| null)?`, got `(?P<found>\w+)`")
_TYPES: Final = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "datetime": "date-time"}
"""Python's types by their names in schemas; others have the same name in both."""

Kind = TypeVar("Kind", bound=Wire)


@dataclass(frozen=True, slots=True)
class Wording:
    """What an operator of Kubeflow says about a template that lacks something."""

    containers: str
    value: str


_MPI_OPERATOR: Final = Wording("must define at least one container", "")
_TRAINING_OPERATOR: Final = Wording("must be specified", "must be required")


def read(raw: Mapping[str, Any], kind: type[Kind]) -> Kind | FieldError:
    """The object as its type, or an error for the first field of another type."""
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        found = _PLACE.fullmatch(str(error))
        field, why = (found["field"], found["why"]) if found else ("", str(error))
        return _wrong_type(field, why)


def _wrong_type(field: str, why: str) -> FieldError:
    """In the wording of a CRD's schema, which users know: the found type stands for the value."""
    types = _OTHER_TYPE.fullmatch(why)
    if types is None:
        return FieldError("FieldValueTypeInvalid", field, f"Invalid value: {why}")
    wanted, found = (_TYPES.get(name, name) for name in types.group("wanted", "found"))
    return type_invalid(field, found, f"must be of type {wanted}")


def message(errors: Sequence[FieldError]) -> str:
    """All errors as one message, cut to the length of an event's message."""
    words = ", ".join(str(error) for error in errors)
    return ("Found validation errors: " + (f"[{words}]" if len(errors) > 1 else words))[:MESSAGE_LIMIT]


def longest_name_errors(job: str, longest: str) -> list[FieldError]:
    """`longest` is the longest name any pod of the job will have."""
    if complaints := label_complaints(longest):
        said = f'will not able to create pod with invalid DNS label "{longest}": {", ".join(complaints)}'
        return [invalid("metadata.name", job, said)]
    return []


def replica_name_errors(job: str, specs: Mapping[str, ReplicaSpec], names: Sequence[str]) -> list[FieldError]:
    """The same where the names are those of `jobs.parts.named_replicas`, each with a Service of that name."""
    if complaints := label_complaints(job):
        return [invalid("metadata.name", job, f"should match: {','.join(complaints)}")]
    longest = (f"{job}-{role.lower()}-{max(spec.replicas or 1, 1) - 1}" for role, spec in by_role(specs, names).items())
    return longest_name_errors(job, max(longest, key=len, default=job))


def size_errors(
    specs: Mapping[str, ReplicaSpec], field: str, names: Sequence[str], most: int, limits: Bounds | None = None
) -> list[FieldError]:
    """What is rejected only at admission: roles of more replicas than the operator's limit, and workers outside their
    bounds, which a reconcile would clamp."""
    found: list[FieldError] = []
    for given, spec in specs.items():
        replicas = 1 if spec.replicas is None else spec.replicas
        bounds = limits if canonical(given, names) == WORKER else None
        found += role_size_errors(replicas, f"{field}[{given}].replicas", most, bounds)
    return found


def role_size_errors(replicas: int, field: str, most: int, bounds: Bounds | None) -> Iterator[FieldError]:
    size = bounds.nearest(replicas) if bounds else replicas
    if size > most:
        yield invalid(field, replicas, f"must be at most {most}: {limit_advice(size, bounds)}")
    elif bounds is not None and size != replicas:
        yield invalid(field, replicas, f"must be {bounds}; ask for {size} or change {bounds.source} first")


def role_errors(
    spec: ReplicaSpec, field: str, restart_policies: Sequence[str], wording: Wording = _MPI_OPERATOR
) -> Iterator[FieldError]:
    if spec.restart_policy and spec.restart_policy not in restart_policies:
        yield not_supported(f"{field}.restartPolicy", spec.restart_policy, sorted(restart_policies))
    yield from _template_errors(spec.template, f"{field}.template", wording)


def _template_errors(raw: Mapping[str, Any], field: str, wording: Wording) -> Iterator[FieldError]:
    template = read(raw, Template)
    if isinstance(template, FieldError):
        yield replace(template, field=f"{field}.{template.field}")
        return
    found = containers_of(template)
    if not found:
        yield required(f"{field}.spec.containers", wording.containers)
    for index, container in enumerate(found):
        for name, value in (("name", container.name), ("image", container.image)):
            if not value:
                yield required(f"{field}.spec.containers[{index}].{name}", wording.value)
        for at, port in enumerate(container.ports or ()):
            if port.container_port is None:
                yield required(f"{field}.spec.containers[{index}].ports[{at}].containerPort", wording.value)
        yield from _resource_errors(container, f"{field}.spec.containers[{index}].resources")


def _resource_errors(container: Container, field: str) -> Iterator[FieldError]:
    """Checked because amounts are summed for a PodGroup before the API server validates them."""
    given = container.resources or Resources()
    for part, amounts in (("limits", given.limits), ("requests", given.requests)):
        for name, amount in (amounts or {}).items():
            try:
                quantity.parse(str(amount))
            except quantity.QuantityError as error:
                yield invalid(f"{field}.{part}[{name}]", amount, str(error))


def replica_specs_errors(
    specs: Mapping[str, ReplicaSpec], field: str, names: Sequence[str], container: str
) -> Iterator[FieldError]:
    """Of a kind whose roles may be spelled in any case, and whose pods have a container of this name."""
    if not specs:
        yield required(field, "must be required")
    known: dict[str, str] = {}
    for given, spec in specs.items():
        name, place = canonical(given, names), f"{field}[{given}]"
        if name is None:
            yield not_supported(place, given, names)
        elif name in known:
            yield invalid(place, given, f"is the same role as {known[name]}; give it once, as {name}")
        else:
            known[name] = given
            yield from role_errors(spec, place, tuple(RestartPolicy), _TRAINING_OPERATOR)
            yield from _has_container(spec, f"{place}.template.spec.containers", container)
            yield from not_negative(spec.replicas, f"{place}.replicas")


def _has_container(spec: ReplicaSpec, field: str, name: str) -> Iterator[FieldError]:
    template = read(spec.template, Template)
    if isinstance(template, FieldError):
        return  # reported with the template
    found = containers_of(template)
    if found and not any(each.name == name for each in found):
        yield required(field, f"must have at least one container with name {name}")


def taken_name_errors(spec: ReplicaSpec, field: str, ours: Parts) -> Iterator[FieldError]:
    """The API server would reject the pod for a duplicate name, one of which its author never wrote."""
    template = read(spec.template, Template)
    pod = None if isinstance(template, FieldError) else template.spec  # the template's errors are reported elsewhere
    if pod is None:
        return
    lists: tuple[tuple[str, Sequence[Named | Container] | None, str, tuple[str, ...]], ...] = (
        ("volumes", pod.volumes, "a volume", ours.volumes),
        ("initContainers", pod.init_containers, "an init container", ours.containers),
        ("containers", pod.containers, "an init container", ours.containers),
    )
    for name, parts, what, taken in lists:
        for index, part in enumerate(parts or ()):
            if part.name in taken:
                place = f"{field}.template.spec.{name}[{index}].name"
                yield invalid(place, part.name, f"is taken by {what} that the operator adds; choose another name")


def exactly_one(replicas: int | None, field: str) -> Iterator[FieldError]:
    if replicas not in (None, 1):
        yield invalid(f"{field}.replicas", replicas, "must be 1")


def at_least_one(replicas: int, field: str) -> Iterator[FieldError]:
    if replicas < 1:
        yield invalid(f"{field}.replicas", replicas, _AT_LEAST_ONE)


def clean_pod_policy_errors(policy: str | None, field: str) -> Iterator[FieldError]:
    if policy and policy not in tuple(CleanPodPolicy):
        yield not_supported(f"{field}.cleanPodPolicy", policy, sorted(CleanPodPolicy))


def run_policy_errors(policy: RunPolicy, field: str, managers: Sequence[str]) -> Iterator[FieldError]:
    yield from run_limits_errors(policy, field)
    if policy.managed_by is not None and policy.managed_by not in managers:
        yield not_supported(f"{field}.managedBy", policy.managed_by, sorted(managers))


def run_limits_errors(policy: RunLimits, field: str) -> Iterator[FieldError]:
    yield from clean_pod_policy_errors(policy.clean_pod_policy, field)
    yield from not_negative(policy.ttl_seconds_after_finished, f"{field}.ttlSecondsAfterFinished")
    yield from not_negative(policy.active_deadline_seconds, f"{field}.activeDeadlineSeconds")
    yield from not_negative(policy.backoff_limit, f"{field}.backoffLimit")
    if policy.scheduling_policy is not None:
        yield from _scheduling_policy_errors(policy.scheduling_policy, f"{field}.schedulingPolicy")


def _scheduling_policy_errors(policy: SchedulingPolicy, field: str) -> Iterator[FieldError]:
    yield from not_negative(policy.min_available, f"{field}.minAvailable")
    for name, amount in (policy.min_resources or {}).items():
        try:
            quantity.parse(str(amount))
        except quantity.QuantityError as error:
            yield invalid(f"{field}.minResources[{name}]", amount, str(error))
    yield from not_negative(policy.schedule_timeout_seconds, f"{field}.scheduleTimeoutSeconds")


def elastic_policy_errors(policy: ElasticPolicy, field: str) -> Iterator[FieldError]:
    yield from bounds_errors(policy.min_replicas, policy.max_replicas, field)


def bounds_errors(least: int | None, most: int | None, field: str) -> Iterator[FieldError]:
    for name, value in (("minReplicas", least), ("maxReplicas", most)):
        yield from positive(value, f"{field}.{name}")
    if least is not None and most is not None and least > most:
        yield invalid(f"{field}.minReplicas", least, "must not be more than maxReplicas")


def not_negative(value: int | None, field: str) -> Iterator[FieldError]:
    if value is not None and value < 0:
        yield invalid(field, value, _NEGATIVE)


def positive(value: int | None, field: str) -> Iterator[FieldError]:
    if value is not None and value < 1:
        yield invalid(field, value, _AT_LEAST_ONE)
