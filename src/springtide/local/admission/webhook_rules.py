# SPDX-License-Identifier: Apache-2.0
"""Selects the webhooks for a request: rules, scopes and selectors of a ValidatingWebhookConfiguration.

`matchConditions` are CEL expressions and are not evaluated: a webhook with conditions is called whenever everything
else matches, so it receives too many requests rather than too few.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from springtide.local.admission.request import CREATE, UPDATE, AdmissionRequest, Obj, Reader
from springtide.local.kinds import label_selectors
from springtide.local.kinds.label_selectors import Selector

DEFAULT_SECONDS: Final = 10

VersionsOf = Callable[[str, str], Sequence[str]]
"""(group, resource) -> its served versions."""


@dataclass(frozen=True, slots=True)
class Webhook:
    name: str
    rules: tuple[Mapping[str, Any], ...]
    namespaces: Selector
    objects: Selector
    fails_open: bool
    seconds: int
    has_side_effects: bool
    any_version: bool
    """matchPolicy Equivalent: a rule for one version of a resource applies to all of them."""
    client: Mapping[str, Any]


def compiled(configuration: Obj) -> tuple[Webhook, ...]:
    return tuple(_compiled_one(hook) for hook in configuration.get("webhooks") or [])


def _compiled_one(hook: Mapping[str, Any]) -> Webhook:
    return Webhook(
        name=hook["name"],
        rules=tuple(hook.get("rules") or ()),
        namespaces=label_selectors.from_object(hook.get("namespaceSelector") or {}),
        objects=label_selectors.from_object(hook.get("objectSelector") or {}),
        fails_open=hook.get("failurePolicy") == "Ignore",
        seconds=hook.get("timeoutSeconds") or DEFAULT_SECONDS,
        has_side_effects=hook.get("sideEffects") not in ("None", "NoneOnDryRun"),
        any_version=hook.get("matchPolicy", "Equivalent") == "Equivalent",
        client=hook.get("clientConfig") or {},
    )


def version_to_send(hook: Webhook, request: AdmissionRequest, reader: Reader, versions_of: VersionsOf) -> str | None:
    """The version in which to send the object to the webhook, or None when the webhook does not match."""
    if not (_namespace_matches(hook, request, reader) and _object_matches(hook, request)):
        return None
    if any(_rule_matches(rule, request, request.version) for rule in hook.rules):
        return request.version
    if not hook.any_version:
        return None
    others = [version for version in versions_of(request.group, request.resource) if version != request.version]
    return next((other for rule in hook.rules for other in others if _rule_matches(rule, request, other)), None)


def _rule_matches(rule: Mapping[str, Any], request: AdmissionRequest, version: str) -> bool:
    return (
        _is_or_any(rule.get("operations"), request.operation)
        and _is_or_any(rule.get("apiGroups"), request.group)
        and _is_or_any(rule.get("apiVersions"), version)
        and _in_scope(rule.get("scope", "*"), request)
        and any(_resource_matches(resource, request) for resource in rule.get("resources") or [])
    )


def _is_or_any(allowed: Sequence[str] | None, wanted: str) -> bool:
    return allowed is not None and (wanted in allowed or "*" in allowed)


def _resource_matches(pattern: str, request: AdmissionRequest) -> bool:
    resource, _, subresource = pattern.partition("/")
    return resource in ("*", request.resource) and subresource in ("*", request.subresource)


def _in_scope(scope: str, request: AdmissionRequest) -> bool:
    clustered = request.storage == "namespaces" or not request.namespace
    return scope == "*" or (scope == "Cluster") == clustered


def _namespace_matches(hook: Webhook, request: AdmissionRequest, reader: Reader) -> bool:
    if hook.namespaces.empty:
        return True
    if request.storage == "namespaces":
        if request.operation in (CREATE, UPDATE) and not request.subresource:
            return hook.namespaces.matches(_labels(request.obj))
        return hook.namespaces.matches(_labels(reader.get("namespaces", "", request.name)))
    if not request.namespace:
        return True
    return hook.namespaces.matches(_labels(reader.get("namespaces", "", request.namespace)))


def _object_matches(hook: Webhook, request: AdmissionRequest) -> bool:
    if hook.objects.empty:
        return True
    states = [state for state in (request.obj, request.old) if state is not None]
    return any(hook.objects.matches(_labels(state)) for state in states)


def _labels(obj: Obj | None) -> Mapping[str, str]:
    return ((obj or {}).get("metadata") or {}).get("labels") or {}
