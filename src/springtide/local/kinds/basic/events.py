# SPDX-License-Identifier: Apache-2.0
"""Events, which are served in two shapes: that of the core group and that of events.k8s.io.

One object is stored, in the core shape; `as_core` and `as_events` convert between the shapes, and the strategy of each
group works on objects in its own shape. Rules and columns are written once, for the core shape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from springtide.api.field_errors import FieldError, invalid, required
from springtide.local.kinds import names
from springtide.local.kinds.columns import NAME, UNKNOWN, name_of, since
from springtide.local.kinds.metadata import IMMUTABLE
from springtide.local.kinds.strategy import Column, Obj, Strategy

_RENAMED = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_RENAMED_BACK = {new: old for old, new in _RENAMED.items()}
_ALWAYS_IN_CORE = ("reportingComponent", "reportingInstance")
_NULLABLE = ("firstTimestamp", "lastTimestamp", "eventTime")


def as_core(event: Obj) -> Obj:
    """An events.k8s.io Event in the core shape."""
    return {_RENAMED_BACK.get(key, key): value for key, value in event.items()}


def as_events(event: Obj) -> Obj:
    """A core Event in the events.k8s.io shape."""
    return {_RENAMED.get(key, key): value for key, value in event.items() if value != "" or key not in _ALWAYS_IN_CORE}


def _default_core(event: Obj) -> None:
    event.setdefault("involvedObject", {})
    event.setdefault("source", {})
    for field in _NULLABLE:
        event.setdefault(field, None)
    for field in _ALWAYS_IN_CORE:
        event.setdefault(field, "")


def _default_events(event: Obj) -> None:
    event.setdefault("regarding", {})
    event.setdefault("deprecatedSource", {})
    for field in ("deprecatedFirstTimestamp", "deprecatedLastTimestamp", "eventTime"):
        event.setdefault(field, None)


def _validate_core(event: Obj) -> list[FieldError]:
    return _validate(event, "reportingComponent")


def _validate(event: Obj, controller_field: str) -> list[FieldError]:
    namespace: str = event["metadata"].get("namespace", "")
    about: str = (event.get("involvedObject") or {}).get("namespace", "")
    errors: list[FieldError] = []
    if event.get("eventTime"):
        if not about and namespace not in ("default", "kube-system"):
            errors.append(invalid("involvedObject.namespace", about, "does not match event.namespace"))
        errors += _validate_reporter(event, controller_field)
        errors += _validate_texts(event)
    elif namespace != about and (about or namespace not in ("", "default")):
        errors.append(invalid("involvedObject.namespace", about, "does not match event.namespace"))
    errors += [invalid("namespace", namespace, why) for why in names.dns_subdomain(namespace)]
    return errors


def _validate_reporter(event: Obj, controller_field: str) -> list[FieldError]:
    controller, instance = event.get("reportingComponent", ""), event.get("reportingInstance", "")
    errors: list[FieldError] = []
    if not controller:
        errors.append(required(controller_field))
    errors += [invalid(controller_field, controller, why) for why in names.qualified_name(controller)]
    if not instance:
        errors.append(required("reportingInstance"))
    if len(instance.encode()) > 128:
        errors.append(invalid("reportingInstance", "", "can have at most 128 characters"))
    return errors


def _validate_texts(event: Obj) -> list[FieldError]:
    errors: list[FieldError] = []
    for field in ("action", "reason"):
        text: str = event.get(field, "")
        if not text:
            errors.append(required(field))
        if len(text.encode()) > 128:
            errors.append(invalid(field, "", "can have at most 128 characters"))
    if len(event.get("message", "").encode()) > 1024:
        errors.append(invalid("message", "", "can have at most 1024 characters"))
    return errors


def _validate_events(event: Obj) -> list[FieldError]:
    """The newer group is strict: the fields of the older shape must be empty."""
    core = as_core(event)
    errors = _validate(core, "reportingController")
    errors += _validate_series(core)
    if not core.get("eventTime"):
        errors.append(required("eventTime"))
    if (kind := core.get("type", "")) not in ("Normal", "Warning"):
        errors.append(invalid("type", "", f"has invalid value: {kind}"))
    for field in ("firstTimestamp", "lastTimestamp", "count", "source"):
        if core.get(field):
            errors.append(invalid(field, "", "needs to be unset"))
    return errors


def _validate_series(core: Obj) -> list[FieldError]:
    series = core.get("series")
    if series is None:
        return []
    errors = [] if series.get("count", 0) >= 2 else [invalid("series.count", "", "should be at least 2")]
    if not series.get("lastObservedTime"):
        errors.append(required("series.lastObservedTime"))
    return errors


_FIXED = (
    "involvedObject",
    "reason",
    "message",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "count",
    "type",
    "eventTime",
    "action",
    "related",
    "reportingComponent",
    "reportingInstance",
)


def _validate_events_update(new: Obj, old: Obj) -> list[FieldError]:
    after, before = as_core(new), as_core(old)
    errors = _validate(after, "reportingController")
    if after.get("series") != before.get("series"):
        errors += _validate_series(after)
    for field in _FIXED:
        if (after.get(field) or None) != (before.get(field) or None):
            shown_field = "reportingController" if field == "reportingComponent" else field
            errors.append(invalid(shown_field, after.get(field), IMMUTABLE))
    return errors


def _cells(event: Obj, now: str) -> Sequence[Any]:
    about, series = event.get("involvedObject") or {}, event.get("series")
    first = since(event.get("firstTimestamp") or event.get("eventTime"), now)
    last = since(event["lastTimestamp"], now) if event.get("lastTimestamp") else first
    count = event.get("count") or 1
    if series is not None:
        last = since(series.get("lastObservedTime"), now) or UNKNOWN
        count = series.get("count", 0)
    kind: str = about.get("kind", "").lower()
    return (
        last,
        event.get("type", ""),
        event.get("reason", ""),
        f"{kind}/{about['name']}" if about.get("name") else kind,
        about.get("fieldPath", ""),
        _reporter(event),
        event.get("message", "").strip(),
        first,
        count,
        name_of(event),
    )


def _reporter(event: Obj) -> str:
    source = event.get("source") or {}
    component: str = source.get("component") or event.get("reportingComponent", "")
    instance: str = source.get("host") or event.get("reportingInstance", "")
    return f"{component}, {instance}" if instance else component


def _events_cells(event: Obj, now: str) -> Sequence[Any]:
    return _cells(as_core(event), now)


def _text(field: str) -> Callable[[Obj], str]:
    def read(event: Obj) -> str:
        value: str = event.get(field) or ""
        return value

    return read


def _about(outer: str, inner: str) -> Callable[[Obj], str]:
    def read(event: Obj) -> str:
        value: str = (event.get(outer) or {}).get(inner, "")
        return value

    return read


def _source(event: Obj) -> str:
    component: str = (event.get("source") or {}).get("component") or event.get("reportingComponent", "")
    return component


_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")

_COLUMNS = (
    Column("Last Seen", description="The time at which the most recent occurrence of this event was recorded."),
    Column("Type", description="Type of this event (Normal, Warning), new types could be added in the future"),
    Column(
        "Reason",
        description=(
            "This should be a short, machine understandable string that gives the reason for the transition into the "
            "object's current status."
        ),
    ),
    Column("Object", description="The object that this event is about."),
    Column(
        "Subobject",
        description=(
            "If referring to a piece of an object instead of an entire object, this string should contain a valid "
            "JSON/Go field access statement, such as desiredState.manifest.containers[2]. For example, if the object "
            'reference is to a container within a pod, this would take on a value like: "spec.containers{name}" '
            '(where "name" refers to the name of the container that triggered the event) or if no container name is '
            'specified "spec.containers[2]" (container with index 2 in this pod). This syntax is chosen only to have '
            "some well-defined way of referencing a part of an object."
        ),
        priority=1,
    ),
    Column(
        "Source",
        description="The component reporting this event. Should be a short machine understandable string.",
        priority=1,
    ),
    Column("Message", description="A human-readable description of the status of this operation."),
    Column(
        "First Seen",
        description="The time at which the event was first recorded. (Time of server receipt is in TypeMeta.)",
        priority=1,
    ),
    Column("Count", description="The number of times this event has occurred.", priority=1),
    Column("Name", format="name", description=NAME.description, priority=1),
)

CORE_EVENT = Strategy(
    default=_default_core,
    validate=_validate_core,
    columns=_COLUMNS,
    cells=_cells,
    fields={f"involvedObject.{field}": _about("involvedObject", field) for field in _REFERENCE}
    | {field: _text(field) for field in ("reason", "reportingComponent", "type")}
    | {"source": _source},
)

EVENT = Strategy(
    default=_default_events,
    validate=_validate_events,
    validate_update=_validate_events_update,
    columns=_COLUMNS,
    cells=_events_cells,
    fields={f"regarding.{field}": _about("regarding", field) for field in _REFERENCE}
    | {field: _text(field) for field in ("reason", "reportingController", "type")},
)
