# SPDX-License-Identifier: Apache-2.0
"""Updates, patches, applies and writes of the status, of a few kinds: what they share is tried by creations."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from tests.robustness.complexity.cases import Case, Obj, Seen, fields, placed, recorded_objects, values
from tests.robustness.complexity.custom_cases import MERGE, OBJECTS, STRATEGIC, custom

from springtide.local.schema import builtin

APPLY = "application/apply-patch+yaml"
KINDS = {
    "Pod": ("v1", "/api/v1/namespaces/tried/pods"),
    "Service": ("v1", "/api/v1/namespaces/tried/services"),
    "Deployment": ("apps/v1", "/apis/apps/v1/namespaces/tried/deployments"),
    "HorizontalPodAutoscaler": ("autoscaling/v2", "/apis/autoscaling/v2/namespaces/tried/horizontalpodautoscalers"),
}
NAME = "base"
RARELY = 16
"""CI tries one in so many of what it would try of creations."""
_APPLIED = "fieldManager=a&force=true&dryRun=All"


def bases() -> Iterator[tuple[str, Obj]]:
    """What must be there before: paths and objects."""
    for kind in KINDS:
        yield KINDS[kind][1], _base(kind)


def _base(kind: str) -> Obj:
    recorded = recorded_objects()[kind]
    metadata = {key: value for key, value in recorded.get("metadata", {}).items() if key in ("labels", "annotations")}
    return recorded | {"kind": kind, "apiVersion": KINDS[kind][0], "metadata": metadata | {"name": NAME}}


def verb_cases() -> Iterator[Case]:
    seen: Seen = set()
    for kind, (api_version, path) in KINDS.items():
        group, _, version = api_version.rpartition("/")
        base = _base(kind)
        for steps, position in fields(builtin.kind_node(group, version, kind), seen):
            for name, value in values(position):
                make = partial(_placed, base, steps, value)
                sparse = partial(_placed, {}, steps, value)
                where = f"{kind}.{'.'.join(map(str, steps))}: {name}"
                status = steps[0] == "status"
                target = f"{path}/{NAME}/status" if status else f"{path}/{NAME}"
                yield Case(f"update {where}", "PUT", f"{target}?dryRun=All", make, rarely=RARELY)
                yield Case(f"merge {where}", "PATCH", f"{target}?dryRun=All", sparse, MERGE, RARELY)
                yield Case(f"strategic {where}", "PATCH", f"{target}?dryRun=All", sparse, STRATEGIC, RARELY)
                applied = partial(_placed, _identity(kind), steps, value)
                yield Case(f"apply {where}", "PATCH", f"{target}?{_APPLIED}", applied, APPLY, RARELY)


def _identity(kind: str) -> Obj:
    return {"kind": kind, "apiVersion": KINDS[kind][0], "metadata": {"name": NAME}}


def _placed(base: Obj, steps: Any, value: Any) -> Obj:
    return placed(base, steps, value())


def custom_updates(version: str, values_of: Iterator[tuple[str, str, Any]]) -> Iterator[Case]:
    """Updates of a custom resource, which must name the version that they replace."""
    for field, name, value in values_of:
        for target in (f"{OBJECTS}/{NAME}", f"{OBJECTS}/{NAME}/status"):
            make = partial(_updated, version, field, value)
            title = "update status" if target.endswith("status") else "update"
            yield Case(
                f"custom {title} {field}: {name}",
                "PUT",
                f"{target}?dryRun=All&fieldValidation=Ignore",
                make,
                rarely=RARELY,
            )


def _updated(version: str, field: str, value: Any) -> Obj:
    part = {field: value()}
    return custom(part) | {"metadata": {"name": NAME, "resourceVersion": version}, "status": part}
