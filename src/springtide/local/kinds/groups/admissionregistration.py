# SPDX-License-Identifier: Apache-2.0
"""Validating webhook configurations, and the rules for webhook addresses that CRD conversion shares.

The package `admission` calls the webhooks. CEL match conditions are checked for name and presence only: their
expressions are not compiled here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from springtide.api.field_errors import FieldError, duplicate, invalid, not_supported, required, too_many
from springtide.local.kinds import names
from springtide.local.kinds.columns import AGE, NAME, age_of, name_of
from springtide.local.kinds.label_selectors import validate_selector
from springtide.local.kinds.strategy import Column, Obj, Strategy

_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES = ("*", "Cluster", "Namespaced")
_SIDE_EFFECTS = ("None", "NoneOnDryRun")
_REVIEW_VERSIONS = ("v1", "v1beta1")
_MAX_MATCH_CONDITIONS = 64
_URL_FORM = "; desired format: https://host[/path]"


def _default(configuration: Obj) -> None:
    for hook in configuration.get("webhooks") or ():
        for field, value in _DEFAULTS:
            if hook.get(field) is None:
                hook[field] = {} if value is None else value
        for rule in hook.get("rules") or ():
            if rule.get("scope") is None:
                rule["scope"] = "*"
        default_webhook_port(hook.get("clientConfig") or {})


_DEFAULTS: tuple[tuple[str, str | int | None], ...] = (
    ("failurePolicy", "Fail"),
    ("matchPolicy", "Equivalent"),
    ("namespaceSelector", None),
    ("objectSelector", None),
    ("timeoutSeconds", 10),
)


def default_webhook_port(client: Obj) -> None:
    service = client.get("service")
    if service is not None and service.get("port") is None:
        service["port"] = 443


# --------------------------------------------------------------------------------------------------- webhook addresses


def validate_webhook_client(client: Obj, path: str) -> list[FieldError]:
    """`path` is the path of the object with `url` or `service`."""
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        return [required(path, "exactly one of url or service is required")]
    return _validate_url(url, f"{path}.url") if url is not None else _validate_service(service or {}, f"{path}.service")


def _validate_url(text: str, path: str) -> list[FieldError]:
    try:
        url = urlsplit(text)
    except ValueError as error:
        return [required(path, f"url must be a valid URL: {error}{_URL_FORM}")]
    errors: list[FieldError] = []
    user, _, host = url.netloc.rpartition("@")
    if url.scheme != "https":
        errors.append(invalid(path, url.scheme, f"'https' is the only allowed URL scheme{_URL_FORM}"))
    if not host:
        errors.append(invalid(path, host, f"host must be specified{_URL_FORM}"))
    if "@" in url.netloc:
        errors.append(invalid(path, user, "user information is not permitted in the URL"))
    if url.fragment:
        errors.append(invalid(path, url.fragment, "fragments are not permitted in the URL"))
    if url.query:
        errors.append(invalid(path, url.query, "query parameters are not permitted in the URL"))
    return errors


def _validate_service(service: Obj, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    # kube-apiserver confuses the two: for a service without namespace it reports a missing name.
    if not service.get("namespace"):
        errors.append(required(f"{path}.name"))
    if not service.get("name"):
        errors.append(required(f"{path}.namespace"))
    port = service.get("port", 0)
    if complaints := names.port_number(port):
        errors.append(invalid(f"{path}.port", port, f"port is not valid: {', '.join(complaints)}"))
    return errors + _validate_service_path(service.get("path"), f"{path}.path")


def _validate_service_path(text: str | None, path: str) -> list[FieldError]:
    if not text or text == "/":
        return []
    if text == "//":
        return [invalid(path, text, "segment[0] may not be empty")]
    errors = [] if text.startswith("/") else [invalid(path, text, "must start with a '/'")]
    for index, segment in enumerate(text[1:].removesuffix("/").split("/")):
        if not segment:
            errors.append(invalid(path, text, f"segment[{index}] may not be empty"))
            continue
        errors += [invalid(path, text, f"segment[{index}]: {why}") for why in names.dns_subdomain(segment)]
    return errors


def validate_review_versions(versions: Sequence[str], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, version in enumerate(versions):
        if version in seen:
            errors.append(invalid(f"{path}[{index}]", version, "duplicate version"))
            continue
        seen.add(version)
        errors += [invalid(f"{path}[{index}]", version, why) for why in names.dns_1035_label(version)]
    if seen.isdisjoint(_REVIEW_VERSIONS):
        errors.append(invalid(path, list(versions), f"must include at least one of {', '.join(_REVIEW_VERSIONS)}"))
    return errors


# ----------------------------------------------------------------------------------------------------------- webhooks


def _validate(configuration: Obj) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, hook in enumerate(configuration.get("webhooks") or ()):
        path, name = f"webhooks[{index}]", hook.get("name", "")
        errors += _validate_hook(hook, path)
        versions = hook.get("admissionReviewVersions") or ()
        if versions:
            errors += validate_review_versions(versions, f"{path}.admissionReviewVersions")
        else:
            detail = f"must specify one of {', '.join(_REVIEW_VERSIONS)}"
            errors.append(required(f"{path}.admissionReviewVersions", detail))
        if name and name in seen:
            errors.append(duplicate(f"{path}.name", name))
        seen.add(name)
    return errors


def _validate_hook(hook: Obj, path: str) -> list[FieldError]:
    errors = _validate_hook_name(hook.get("name", ""), f"{path}.name")
    for index, rule in enumerate(hook.get("rules") or ()):
        errors += _validate_rule(rule, f"{path}.rules[{index}]")
    for field, allowed in (("failurePolicy", ("Fail", "Ignore")), ("matchPolicy", ("Equivalent", "Exact"))):
        if hook[field] not in allowed:
            errors.append(not_supported(f"{path}.{field}", hook[field], allowed))
    effects, seconds = hook.get("sideEffects"), hook["timeoutSeconds"]
    if effects is None:
        errors.append(required(f"{path}.sideEffects", f"must specify one of {', '.join(_SIDE_EFFECTS)}"))
    elif effects not in _SIDE_EFFECTS:
        errors.append(not_supported(f"{path}.sideEffects", effects, _SIDE_EFFECTS))
    if not 1 <= seconds <= 30:
        detail = "the timeout value must be between 1 and 30 seconds"
        errors.append(invalid(f"{path}.timeoutSeconds", seconds, detail))
    for field in ("namespaceSelector", "objectSelector"):
        errors += validate_selector(hook[field], f"{path}.{field}")
    errors += validate_webhook_client(hook.get("clientConfig") or {}, f"{path}.clientConfig")
    return errors + _validate_match_conditions(hook.get("matchConditions") or (), f"{path}.matchConditions")


def _validate_hook_name(name: str, path: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    if complaints := names.dns_subdomain(name):
        return [invalid(path, name, ",".join(complaints))]
    if name.count(".") < 2:
        return [invalid(path, name, "should be a domain with at least three segments separated by dots")]
    return []


def _validate_match_conditions(conditions: Sequence[Obj], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if len(conditions) > _MAX_MATCH_CONDITIONS:
        errors.append(too_many(path, len(conditions), _MAX_MATCH_CONDITIONS))
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        name = condition.get("name", "")
        if not condition.get("expression", "").strip():
            errors.append(required(f"{path}[{index}].expression"))
        if not name:
            errors.append(required(f"{path}[{index}].name"))
            continue
        errors += [invalid(f"{path}[{index}].name", name, why) for why in names.qualified_name(name)]
        if name in seen:
            errors.append(duplicate(f"{path}[{index}].name", name))
        seen.add(name)
    return errors


# -------------------------------------------------------------------------------------------------------------- rules


def _validate_rule(rule: Obj, path: str) -> list[FieldError]:
    operations = rule.get("operations") or []
    errors = _validate_list(operations, f"{path}.operations", "operations")
    for index, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            errors.append(not_supported(f"{path}.operations[{index}]", operation, _OPERATIONS))
    errors += _validate_list(rule.get("apiGroups") or [], f"{path}.apiGroups", "API groups")
    versions = rule.get("apiVersions") or []
    errors += _validate_list(versions, f"{path}.apiVersions", "API versions")
    errors += [required(f"{path}.apiVersions[{index}]") for index, version in enumerate(versions) if not version]
    errors += _validate_resources(rule.get("resources") or [], f"{path}.resources")
    if (scope := rule["scope"]) not in _SCOPES:
        errors.append(not_supported(f"{path}.scope", scope, _SCOPES))
    return errors


def _validate_list(values: list[str], path: str, what: str) -> list[FieldError]:
    if not values:
        return [required(path)]
    if len(values) > 1 and "*" in values:
        return [invalid(path, values, f"if '*' is present, must not specify other {what}")]
    return []


def _validate_resources(resources: list[str], path: str) -> list[FieldError]:
    errors = [] if resources else [required(path)]
    any_sub: set[str] = set()  # x of x/*
    any_resource: set[str] = set()  # y of */y
    plain = False
    for index, entry in enumerate(resources):
        if not entry:
            errors.append(required(f"{path}[{index}]"))
            continue
        resource, slash, sub = entry.partition("/")
        if not slash:
            plain = entry != "*"
            continue
        if resource in any_sub:
            detail = f"if '{resource}/*' is present, must not specify {entry}"
            errors.append(invalid(f"{path}[{index}]", entry, detail))
        if sub in any_resource:
            errors.append(invalid(f"{path}[{index}]", entry, f"if '*/{sub}' is present, must not specify {entry}"))
        if sub == "*":
            any_sub.add(resource)
        if resource == "*":
            any_resource.add(sub)
    return errors + _validate_wildcards(resources, plain, path)


def _validate_wildcards(resources: list[str], plain: bool, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if len(resources) > 1 and "*/*" in resources:
        errors.append(invalid(path, resources, "if '*/*' is present, must not specify other resources"))
    if plain and "*" in resources:
        detail = "if '*' is present, must not specify other resources without subresources"
        errors.append(invalid(path, resources, detail))
    return errors


_COLUMNS = (
    NAME,
    Column(
        "Webhooks",
        type="integer",
        description="Webhooks indicates the number of webhooks registered in this configuration",
    ),
    AGE,
)


def _cells(configuration: Obj, now: str) -> Sequence[Any]:
    return name_of(configuration), len(configuration.get("webhooks") or ()), age_of(configuration, now)


VALIDATING_WEBHOOK_CONFIGURATION = Strategy(
    default=_default, validate=_validate, has_generation=True, columns=_COLUMNS, cells=_cells
)
