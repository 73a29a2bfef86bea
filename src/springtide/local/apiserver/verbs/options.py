# SPDX-License-Identifier: Apache-2.0
"""Query parameters and option bodies of the verbs, validated with kube-apiserver's messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from springtide.api import field_errors as field
from springtide.api.field_errors import FieldError
from springtide.local.apiserver.requests import Query, Request
from springtide.local.status import StatusError, bad_request, invalid

_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_INT64_DIGITS = 4000  # leading zeros are allowed, but Python converts no more digits
_POLICIES = ("Foreground", "Background", "Orphan")


@dataclass(frozen=True, slots=True)
class WriteOptions:
    dry_run: bool
    field_validation: str  # Ignore | Warn | Strict
    manager: str
    force: bool = False
    applied: bool = False
    """Server-side apply has already computed managedFields."""


def write_options(request: Request, kind: str, *, apply: bool = False) -> WriteOptions:
    """`kind` is CreateOptions, UpdateOptions or PatchOptions, for error messages."""
    query = request.query
    if not query.raw and not apply:
        return WriteOptions(False, "Warn", _from_user_agent(request))
    errors = _dry_run_errors(query.all("dryRun"))
    validation = query.get("fieldValidation")
    if validation not in _VALIDATIONS:
        errors.append(field.not_supported("fieldValidation", validation, _VALIDATIONS))
    manager = query.get("fieldManager")
    if len(manager) > 128:
        errors.append(field.too_long("fieldManager", 128))
    errors += _printable(manager)
    if apply and not manager:
        errors.append(field.required("fieldManager", "is required for apply patch"))
    force = query.flag("force")
    if "force" in query and kind == "PatchOptions" and not apply:
        errors.append(field.forbidden("force", "may not be specified for non-apply patch"))
    if errors:
        raise invalid("meta.k8s.io", kind, "", errors)
    return WriteOptions(bool(query.all("dryRun")), validation or "Warn", manager or _from_user_agent(request), force)


def _printable(manager: str) -> list[FieldError]:
    for position, character in enumerate(manager):
        if not character.isprintable():
            detail = f"invalid character U+{ord(character):04X} (at position {position})"
            return [FieldError("FieldValueInvalid", "fieldManager", f"Invalid value: {_go_quoted(manager)}: {detail}")]
    return []


def _go_quoted(text: str) -> str:
    shown = (c if c.isprintable() else f"\\x{ord(c):02x}" if ord(c) < 0x80 else f"\\u{ord(c):04x}" for c in text)
    return '"' + "".join(shown) + '"'


def _dry_run_errors(values: list[str]) -> list[FieldError]:
    return [] if all(value == "All" for value in values) else [field.not_supported("dryRun", values, ["All"])]


def _from_user_agent(request: Request) -> str:
    agent = request.headers.get("User-Agent", "").split("/", 1)[0][:128]
    return "".join(char for char in agent if char.isprintable()) or "unknown"


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    grace: int | None = None
    policy: str = ""  # "", Background, Foreground, Orphan
    dry_run: bool = False
    uid: str = ""
    resource_version: str = ""


def delete_options(query: Query, body: Mapping[str, Any]) -> DeleteOptions:
    """From the body or, without one, from the query."""
    source: Mapping[str, Any] = body or _from_query(query)
    errors: list[FieldError] = []
    policy = source.get("propagationPolicy") or ""
    if policy and policy not in _POLICIES:
        errors.append(field.not_supported("propagationPolicy", policy, [*_POLICIES, "nil"]))
    orphan = source.get("orphanDependents")
    if orphan is not None and policy:
        errors.append(
            field.invalid("propagationPolicy", policy, "orphanDependents and deletionPropagation cannot be both set")
        )
    dry_run = source.get("dryRun") or []
    errors += _dry_run_errors(dry_run)
    if errors:
        raise invalid("meta.k8s.io", "DeleteOptions", "", errors)
    if orphan is not None:
        policy = "Orphan" if orphan else "Background"
    preconditions = source.get("preconditions") or {}
    return DeleteOptions(
        source.get("gracePeriodSeconds"),
        policy,
        bool(dry_run),
        preconditions.get("uid", ""),
        preconditions.get("resourceVersion", ""),
    )


def _from_query(query: Query) -> dict[str, Any]:
    found: dict[str, Any] = {"propagationPolicy": query.get("propagationPolicy"), "dryRun": query.all("dryRun")}
    if "gracePeriodSeconds" in query:
        found["gracePeriodSeconds"] = whole_number(query.get("gracePeriodSeconds"))
    if "orphanDependents" in query:
        found["orphanDependents"] = query.flag("orphanDependents")
    return found


def whole_number(text: str) -> int:
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        raise bad_request(f'strconv.ParseInt: parsing "{field.cut(text)}": invalid syntax')
    if len(digits) > _INT64_DIGITS or not -(2**63) <= int(text) < 2**63:
        raise bad_request(f'strconv.ParseInt: parsing "{field.cut(text)}": value out of range')
    return int(text)


@dataclass(frozen=True, slots=True)
class ListOptions:
    label_selector: str = ""
    field_selector: str = ""
    limit: int = 0
    token: str = ""
    version: str = ""  # resourceVersion
    match: str = ""  # resourceVersionMatch
    bookmarks: bool = False
    initial_events: bool | None = None
    timeout: int | None = None


def list_options(query: Query, *, watch: bool) -> ListOptions:
    if not query.raw:
        return ListOptions()
    options = ListOptions(
        query.get("labelSelector"),
        query.get("fieldSelector"),
        whole_number(query.get("limit") or "0"),
        query.get("continue"),
        query.get("resourceVersion"),
        query.get("resourceVersionMatch"),
        query.flag("allowWatchBookmarks"),
        query.flag("sendInitialEvents") if "sendInitialEvents" in query else None,
        whole_number(query.get("timeoutSeconds")) if query.get("timeoutSeconds") else None,
    )
    errors = _watch_errors(options) if watch else _list_errors(options)
    if errors:
        raise invalid("meta.k8s.io", "ListOptions", "", errors)
    return options


def _list_errors(options: ListOptions) -> list[FieldError]:
    errors: list[FieldError] = []
    if options.initial_events is not None:
        errors.append(field.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    if not options.match:
        return errors
    if not options.version:
        errors.append(
            field.forbidden(
                "resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided"
            )
        )
    if options.token:
        errors.append(
            field.forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided")
        )
    if options.match not in ("Exact", "NotOlderThan"):
        errors.append(field.not_supported("resourceVersionMatch", options.match, ["Exact", "NotOlderThan", ""]))
    elif options.match == "Exact" and options.version == "0":
        errors.append(
            field.forbidden("resourceVersionMatch", 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"')
        )
    return errors


def _watch_errors(options: ListOptions) -> list[FieldError]:
    errors: list[FieldError] = []
    if options.initial_events is not None and options.match != "NotOlderThan":
        errors.append(
            field.forbidden(
                "resourceVersionMatch",
                "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            )
        )
        if options.match:
            errors.append(field.not_supported("resourceVersionMatch", options.match, ["NotOlderThan"]))
    if options.initial_events is None and options.match:
        errors.append(
            field.forbidden(
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            )
        )
    return errors


def revision_of(version: str) -> int:
    if not version:
        return 0
    if not (version.isascii() and version.isdigit()):
        raise _bad_version(version, "invalid syntax")
    if len(version) > _INT64_DIGITS or int(version) >= 2**64:
        raise _bad_version(version, "value out of range")
    return int(version)


def _bad_version(version: str, why: str) -> StatusError:
    error = field.invalid("resourceVersion", version, f'strconv.ParseUint: parsing "{field.cut(version)}": {why}')
    return bad_request(str(error))
