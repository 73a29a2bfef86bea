# SPDX-License-Identifier: Apache-2.0
"""Environment variables of a container, and references to the pod's fields, which volumes use as well."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from springtide.api.field_errors import FieldError, invalid, not_supported, required
from springtide.local.kinds import names
from springtide.local.kinds.pod.containers_resources import amount
from springtide.local.kinds.strategy import Obj

ENV_FIELDS = frozenset(
    {
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    }
)
VOLUME_FIELDS = frozenset(
    {"metadata.name", "metadata.namespace", "metadata.labels", "metadata.annotations", "metadata.uid"}
)
_CONVERTIBLE = ENV_FIELDS | VOLUME_FIELDS | {"spec.restartPolicy", "spec.schedulerName", "status.phase", "spec.host"}
_RESOURCES = frozenset(
    f"{side}.{name}" for side in ("limits", "requests") for name in ("cpu", "memory", "ephemeral-storage")
)
_HUGE = ("limits.hugepages-", "requests.hugepages-")
_BYTES = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")


def validate_env(variables: Sequence[Obj], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, variable in enumerate(variables):
        name = variable.get("name", "")
        if not name:
            errors.append(required(f"{path}[{index}].name"))
        elif complaints := names.env_var_name(name):
            errors += [invalid(f"{path}[{index}].name", name, why) for why in complaints]
        if (source := variable.get("valueFrom")) is not None:
            errors += _validate_value_from(source, variable.get("value", ""), f"{path}[{index}].valueFrom")
    return errors


def _validate_value_from(source: Obj, value: str, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    given = [kind for kind in _SOURCES if source.get(kind) is not None]
    for kind in given:
        errors += _validate_reference(kind, source[kind], f"{path}.{kind}")
    if not given:
        why = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        errors.append(invalid(path, "", why))
    elif value:
        errors.append(invalid(path, "", "may not be specified when `value` is not empty"))
    elif len(given) > 1:
        errors.append(invalid(path, "", "may not have more than one field specified at a time"))
    return errors


def _validate_reference(kind: str, reference: Obj, path: str) -> list[FieldError]:
    if kind == "fieldRef":
        return validate_field_ref(reference, ENV_FIELDS, path)
    if kind == "resourceFieldRef":
        return validate_resource_ref(reference, path)
    if kind == "fileKeyRef":
        return _validate_file_key(reference, path)
    name, key = reference.get("name", ""), reference.get("key", "")
    errors = [invalid(f"{path}.name", name, why) for why in names.dns_subdomain(name)]
    if not key:
        return [*errors, required(f"{path}.key")]
    return errors + [invalid(f"{path}.key", key, why) for why in names.config_key(key)]


def _validate_file_key(reference: Obj, path: str) -> list[FieldError]:
    errors = [required(f"{path}.{field}") for field in ("key", "volumeName", "path") if not reference.get(field)]
    if key := reference.get("key"):
        errors += [invalid(f"{path}.key", key, why) for why in names.env_var_name(key)]
    if volume := reference.get("volumeName"):
        errors += [invalid(f"{path}.volumeName", volume, why) for why in names.dns_label(volume)]
    if ".." in reference.get("path", "").split("/"):
        errors.append(invalid(f"{path}.path", reference["path"], "must not contain '..'"))
    return errors


def validate_field_ref(reference: Obj, allowed: Collection[str], path: str) -> list[FieldError]:
    version, field = reference.get("apiVersion", ""), reference.get("fieldPath", "")
    if not version:
        return [required(f"{path}.apiVersion")]
    if not field:
        return [required(f"{path}.fieldPath")]
    if field in allowed and version == "v1":
        return []
    if version != "v1":
        why = f"error converting fieldPath: unsupported pod version: {version}"
        return [invalid(f"{path}.fieldPath", field, why)]
    base, subscript, key = field.removesuffix("']").partition("['")
    if base and subscript and field.endswith("']"):
        return _validate_subscript(field, base, key, path)
    if field not in _CONVERTIBLE:
        why = f"error converting fieldPath: field label not supported: {field}"
        return [invalid(f"{path}.fieldPath", field, why)]
    return [not_supported(f"{path}.fieldPath", field, sorted(allowed))]


def _validate_subscript(field: str, base: str, key: str, path: str) -> list[FieldError]:
    if base == "metadata.annotations":
        return [invalid(path, key.lower(), why) for why in names.qualified_name(key.lower())]
    if base == "metadata.labels":
        return [invalid(path, key, why) for why in names.qualified_name(key)]
    why = f"error converting fieldPath: field label does not support subscript: {field}"
    return [invalid(f"{path}.fieldPath", field, why)]


def validate_resource_ref(reference: Obj, path: str, in_volume: bool = False) -> list[FieldError]:
    resource = reference.get("resource", "")
    errors: list[FieldError] = []
    if in_volume and not reference.get("containerName"):
        errors.append(required(f"{path}.containerName"))
    elif not resource:
        errors.append(required(f"{path}.resource"))
    elif resource not in _RESOURCES and not resource.startswith(_HUGE):
        errors.append(not_supported(f"{path}.resource", resource, sorted(_RESOURCES)))
    return errors + _validate_divisor(resource, str(reference.get("divisor", "0")), f"{path}.divisor")


def _validate_divisor(resource: str, divisor: str, path: str) -> list[FieldError]:
    if divisor == "0" or not amount(divisor):
        return []
    name = resource.partition(".")[2]
    if name == "cpu":
        if divisor in ("1m", "1"):
            return []
        return [invalid(path, resource, "only divisor's values 1m and 1 are supported with the cpu resource")]
    words = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}
    word = words.get(name, "hugepages" if name.startswith("hugepages-") else "")
    if not word or divisor in _BYTES:
        return []
    why = f"only divisor's values {', '.join(_BYTES)} are supported with the {word} resource"
    return [invalid(path, resource, why)]


def validate_env_from(sources: Sequence[Obj], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, source in enumerate(sources):
        where = f"{path}[{index}]"
        if prefix := source.get("prefix"):
            errors += [invalid(f"{where}.prefix", prefix, why) for why in names.env_var_name(prefix)]
        given = [kind for kind in ("configMapRef", "secretRef") if source.get(kind) is not None]
        for kind in given:
            name = source[kind].get("name", "")
            if not name:
                errors.append(required(f"{where}.{kind}.name"))
            else:
                errors += [invalid(f"{where}.{kind}.name", name, why) for why in names.dns_subdomain(name)]
        if not given:
            errors.append(invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(given) > 1:
            errors.append(invalid(path, "", "may not have more than one field specified at a time"))
    return errors
