# SPDX-License-Identifier: Apache-2.0
"""Validation of probes and lifecycle hooks."""

from __future__ import annotations

from springtide.api.field_errors import FieldError, forbidden, invalid, not_supported, required
from springtide.local.kinds import names
from springtide.local.kinds.basic.services_rules import validate_port_or_name
from springtide.local.kinds.strategy import Obj

PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")
_HOOK_HANDLERS = ("exec", "httpGet", "tcpSocket", "sleep")
_NUMBERS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")


def validate_probes(container: Obj, grace: int | None, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for kind in PROBES:
        if (probe := container.get(kind)) is not None:
            errors += _validate_probe(kind, probe, grace, f"{path}.{kind}")
    return errors


def _validate_probe(kind: str, probe: Obj, grace: int | None, path: str) -> list[FieldError]:
    errors = _validate_handler(probe, _PROBE_HANDLERS, grace, path)
    for field in _NUMBERS:
        if (value := probe.get(field, 0)) < 0:
            errors.append(invalid(f"{path}.{field}", value, names.NEGATIVE))
    own_grace = probe.get("terminationGracePeriodSeconds")
    if own_grace is not None and own_grace <= 0:
        errors.append(invalid(f"{path}.terminationGracePeriodSeconds", own_grace, "must be greater than 0"))
    if kind == "readinessProbe":
        if own_grace is not None:
            why = "must not be set for readinessProbes"
            errors.append(invalid(f"{path}.terminationGracePeriodSeconds", own_grace, why))
    elif (threshold := probe.get("successThreshold", 1)) != 1:
        errors.append(invalid(f"{path}.successThreshold", threshold, "must be 1"))
    return errors


def _validate_handler(holder: Obj, kinds: tuple[str, ...], grace: int | None, path: str) -> list[FieldError]:
    given = [kind for kind in kinds if holder.get(kind) is not None]
    if not given:
        return [required(path, "must specify a handler type")]
    errors = _validate_action(given[0], holder[given[0]], grace, f"{path}.{given[0]}")
    return errors + [forbidden(f"{path}.{kind}", "may not specify more than 1 handler type") for kind in given[1:]]


def _validate_action(kind: str, action: Obj, grace: int | None, path: str) -> list[FieldError]:
    if kind == "exec":
        return [] if action.get("command") else [required(f"{path}.command")]
    if kind == "httpGet":
        return _validate_http(action, path)
    if kind == "sleep":
        seconds = action.get("seconds", 0)
        if grace is None or 0 <= seconds <= grace:
            return []
        why = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
        return [invalid(path, seconds, why)]
    return validate_port_or_name(action.get("port", 0), f"{path}.port")


def _validate_http(action: Obj, path: str) -> list[FieldError]:
    errors = [] if action.get("path") else [required(f"{path}.path")]
    errors += validate_port_or_name(action.get("port", 0), f"{path}.port")
    if (scheme := action.get("scheme", "")) not in ("HTTP", "HTTPS"):
        errors.append(not_supported(f"{path}.scheme", scheme, ("HTTP", "HTTPS")))
    for header in action.get("httpHeaders") or ():
        name = header.get("name", "")
        errors += [invalid(f"{path}.httpHeaders", name, why) for why in names.http_header_name(name)]
    return errors


def validate_lifecycle(lifecycle: Obj, grace: int | None, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for hook in ("postStart", "preStop"):
        if (handler := lifecycle.get(hook)) is not None:
            errors += _validate_handler(handler, _HOOK_HANDLERS, grace, f"{path}.{hook}")
    return errors
