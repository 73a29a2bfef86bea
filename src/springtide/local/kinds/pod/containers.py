# SPDX-License-Identifier: Apache-2.0
"""Validation of containers: regular, init, sidecar and ephemeral ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from springtide.api.field_errors import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
    too_many,
)
from springtide.local.kinds import names
from springtide.local.kinds.basic.services_rules import PROTOCOLS
from springtide.local.kinds.pod.containers_env import validate_env, validate_env_from
from springtide.local.kinds.pod.containers_probes import PROBES, validate_lifecycle, validate_probes
from springtide.local.kinds.pod.containers_resources import validate_requirements
from springtide.local.kinds.pod.pod_security import validate_container_security
from springtide.local.kinds.pod.volumes_mounts import validate_mounts
from springtide.local.kinds.strategy import Obj

_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_RESTART_POLICIES = ("Always", "Never", "OnFailure")
_RESTART_ACTIONS = ("Restart", "RestartAllContainers")
_SIDECARS_ONLY = "may not be set for init containers without restartPolicy=Always"
_NOT_EPHEMERAL = "cannot be set for an Ephemeral Container"
_NOT_FOR_EPHEMERAL = ("ports", "lifecycle", *PROBES, "resizePolicy", "restartPolicy", "restartPolicyRules")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Properties of the pod that a container's rules need."""

    volumes: Mapping[str, Obj]
    claims: Collection[str]
    grace: int | None
    restart_policy: str
    host_users: bool


def validate_containers(containers: Sequence[Obj], around: Surroundings, path: str) -> list[FieldError]:
    if not containers:
        return [required(path)]
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, container in enumerate(containers):
        where = f"{path}[{index}]"
        errors += _validate_common(container, around, where)
        name = container.get("name", "")
        if name in seen:
            errors.append(duplicate(f"{where}.name", name))
        seen.add(name)
        if lifecycle := container.get("lifecycle"):
            errors += validate_lifecycle(lifecycle, around.grace, f"{where}.lifecycle")
        errors += validate_probes(container, around.grace, where)
        errors += _validate_restart(container, where)
    return errors + _validate_host_ports(containers, path)


def validate_init_containers(
    containers: Sequence[Obj], regular: Sequence[Obj], around: Surroundings, path: str
) -> list[FieldError]:
    errors: list[FieldError] = []
    seen = {container.get("name", "") for container in regular}
    for index, container in enumerate(containers):
        where, name = f"{path}[{index}]", container.get("name", "")
        errors += _validate_common(container, around, where)
        errors += _validate_restart(container, where)
        if name in seen:
            errors.append(duplicate(f"{where}.name", name))
        elif name:
            seen.add(name)
        errors += _validate_host_ports((container,), path)
        if container.get("restartPolicy") == "Always":
            if lifecycle := container.get("lifecycle"):
                errors += validate_lifecycle(lifecycle, around.grace, f"{where}.lifecycle")
            errors += validate_probes(container, around.grace, where)
            continue
        for field in ("lifecycle", *PROBES):
            if container.get(field) is not None:
                errors.append(forbidden(f"{where}.{field}", _SIDECARS_ONLY))
    return errors


def validate_ephemeral_containers(
    containers: Sequence[Obj], others: Sequence[Obj], around: Surroundings, path: str
) -> list[FieldError]:
    targets = {container.get("name", "") for container in others}
    seen = set(targets)
    errors: list[FieldError] = []
    for index, container in enumerate(containers):
        where, name = f"{path}[{index}]", container.get("name", "")
        errors += _validate_common(container, around, where)
        if name in seen:
            errors.append(duplicate(f"{where}.name", name))
        seen.add(name)
        target = container.get("targetContainerName")
        if target and target not in targets:
            errors.append(not_found(f"{where}.targetContainerName", target))
        errors += [
            forbidden(f"{where}.{field}", _NOT_EPHEMERAL) for field in _NOT_FOR_EPHEMERAL if container.get(field)
        ]
        if container.get("resources"):
            errors.append(forbidden(f"{where}.resources", _NOT_EPHEMERAL))
        for position, mount in enumerate(container.get("volumeMounts") or ()):
            for field in ("subPath", "subPathExpr"):
                if mount.get(field):
                    errors.append(forbidden(f"{where}.volumeMounts[{position}].{field}", _NOT_EPHEMERAL))
    return errors


def _validate_common(container: Obj, around: Surroundings, path: str) -> list[FieldError]:
    errors = _validate_identity(container, path)
    if ports := container.get("ports"):
        errors += _validate_ports(ports, f"{path}.ports")
    if variables := container.get("env"):
        errors += validate_env(variables, f"{path}.env")
    if sources := container.get("envFrom"):
        errors += validate_env_from(sources, f"{path}.envFrom")
    errors += validate_mounts(container, around.volumes, path)
    policy = container.get("imagePullPolicy", "")
    if policy not in _PULL_POLICIES:
        where = f"{path}.imagePullPolicy"
        errors.append(not_supported(where, policy, _PULL_POLICIES) if policy else required(where))
    if resources := container.get("resources"):
        errors += validate_requirements(resources, f"{path}.resources", around.claims)
    if policies := container.get("resizePolicy"):
        errors += _validate_resize(policies, around.restart_policy, f"{path}.resizePolicy")
    if context := container.get("securityContext"):
        errors += validate_container_security(context, f"{path}.securityContext", around.host_users)
    return errors


def _validate_identity(container: Obj, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    name = container.get("name", "")
    if not name:
        errors.append(required(f"{path}.name"))
    elif complaints := names.dns_label(name):
        errors += [invalid(f"{path}.name", name, why) for why in complaints]
    if not container.get("image"):
        errors.append(required(f"{path}.image"))
    policy = container.get("terminationMessagePolicy", "")
    if policy not in ("File", "FallbackToLogsOnError"):
        where = f"{path}.terminationMessagePolicy"
        choices = ("File", "FallbackToLogsOnError")
        errors.append(not_supported(where, policy, choices) if policy else required(where))
    return errors


def _validate_ports(ports: Sequence[Obj], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, port in enumerate(ports):
        where = f"{path}[{index}]"
        if name := port.get("name"):
            if complaints := names.port_name(name):
                errors += [invalid(f"{where}.name", name, why) for why in complaints]
            elif name in seen:
                errors.append(duplicate(f"{where}.name", name))
            seen.add(name)
        number, on_host = port.get("containerPort", 0), port.get("hostPort", 0)
        if not number:
            errors.append(required(f"{where}.containerPort"))
        else:
            errors += [invalid(f"{where}.containerPort", number, why) for why in names.port_number(number)]
        if on_host:
            errors += [invalid(f"{where}.hostPort", on_host, why) for why in names.port_number(on_host)]
        if (protocol := port.get("protocol", "")) not in PROTOCOLS:
            field = f"{where}.protocol"
            errors.append(not_supported(field, protocol, PROTOCOLS) if protocol else required(field))
    return errors


def _validate_host_ports(containers: Sequence[Obj], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    taken: set[str] = set()
    for index, container in enumerate(containers):
        for position, port in enumerate(container.get("ports") or ()):
            if not (number := port.get("hostPort")):
                continue
            key = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{number}"
            if key in taken:
                errors.append(duplicate(f"{path}[{index}].ports[{position}].hostPort", key))
            taken.add(key)
    return errors


def _validate_resize(policies: Sequence[Obj], restart_policy: str, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, policy in enumerate(policies):
        name, action = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if name in seen:
            errors.append(duplicate(f"{path}[{index}]", name))
        seen.add(name)
        for value, allowed in ((name, ("cpu", "memory")), (action, ("NotRequired", "RestartContainer"))):
            if value not in allowed:
                errors.append(not_supported(path, value, allowed) if value else required(path))
        if restart_policy == "Never" and action != "NotRequired":
            errors.append(invalid(path, action, "must be 'NotRequired' when pod `restartPolicy` is 'Never'"))
    return errors


def _validate_restart(container: Obj, path: str) -> list[FieldError]:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or ()
    if policy is None and not rules:
        return []
    errors: list[FieldError] = []
    if policy is None:
        errors.append(required(f"{path}.restartPolicy", "must specify restartPolicy when restart rules are used"))
    elif policy not in _RESTART_POLICIES:
        errors.append(not_supported(f"{path}.restartPolicy", policy, _RESTART_POLICIES))
    if len(rules) > 20:
        errors.append(too_many(f"{path}.restartPolicyRules", len(rules), 20))
    for index, rule in enumerate(rules):
        errors += _validate_restart_rule(rule, f"{path}.restartPolicyRules[{index}]")
    return errors


def _validate_restart_rule(rule: Obj, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if (action := rule.get("action", "")) not in _RESTART_ACTIONS:
        errors.append(not_supported(f"{path}.action", action, _RESTART_ACTIONS))
    codes = rule.get("exitCodes")
    if codes is None:
        return [*errors, required(f"{path}.exitCodes", "must be specified")]
    if (operator := codes.get("operator", "")) not in ("In", "NotIn"):
        errors.append(not_supported(f"{path}.exitCodes.operator", operator, ("In", "NotIn")))
    if len(values := codes.get("values") or ()) > 255:
        errors.append(too_many(f"{path}.exitCodes.values", len(values), 255))
    return errors
