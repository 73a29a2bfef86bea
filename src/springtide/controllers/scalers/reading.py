# SPDX-License-Identifier: Apache-2.0
"""From the cached part of a ScaleOut or ScaleIn to what the engine reads of it. Pure."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from springtide.api.kinds.conditions import Condition
from springtide.api.kinds.scalers import SCALE_OUT, ScaleInSpec, ScaleOutSpec, ScalerStatus, ToDelete
from springtide.api.validation import scalers
from springtide.controllers.views import ScalerView
from springtide.jobs.reporting import refusing
from springtide.jobs.scaling import phases
from springtide.jobs.scaling.phases import ScalerPhase
from springtide.jobs.scaling.scaler import Scaler
from springtide.kube.resources import Resource

MOST_CONDITIONS: Final = 50
"""Beyond them the conditions of other clients are ignored."""


def scaler(resource: Resource, view: ScalerView) -> Scaler:
    """Not bound to a job; of one with an invalid spec only metadata and status are read."""
    metadata = view.metadata
    spec, error = _spec(resource, view)
    change = spec.to_add if isinstance(spec, ScaleOutSpec) else spec.to_delete
    return Scaler(
        kind=resource.kind,
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
        created=metadata.creation_timestamp,
        terminating=metadata.deletion_timestamp is not None,
        count=change.count,
        pod_names=change.pod_names if isinstance(change, ToDelete) else (),
        script=spec.script,
        env=tuple((each.name, each.value) for each in spec.env),
        timeout=timedelta(seconds=spec.timeout),
        backoff_limit=spec.backoff_limit,
        status=_status(view.status),
        error=error,
    )


def selected(view: ScalerView) -> str:
    """The name of the job that the scaler selects; empty if its spec names none."""
    selector = view.spec.get("selector") if isinstance(view.spec, dict) else None
    name = selector.get("name") if isinstance(selector, dict) else None
    return name if isinstance(name, str) else ""


def has_ended(view: ScalerView) -> bool:
    return phases.of(_status(view.status)).ended


def _spec(resource: Resource, view: ScalerView) -> tuple[ScaleOutSpec | ScaleInSpec, str]:
    """And why it is invalid."""
    type_: type[ScaleOutSpec | ScaleInSpec] = ScaleOutSpec if resource.kind == SCALE_OUT.kind else ScaleInSpec
    metadata: dict[str, Any] = {"name": view.metadata.name, "namespace": view.metadata.namespace}
    raw = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": view.spec or {}}
    if wrong := scalers.errors(raw):
        return type_(), refusing.told(wrong)
    return msgspec.convert(raw["spec"], type_), ""


def _status(status: Any) -> ScalerStatus:
    """Any client may write a status. Parts that cannot be read, such as a time that only an API server understands,
    count as missing: otherwise the scaler would never end, and the next ones would wait for it for ever."""
    given = status if isinstance(status, dict) else {}
    found = _read(given)
    if found is None:
        conditions = given.get("conditions")
        each = conditions if isinstance(conditions, list | tuple) else ()
        given = {**given, "conditions": [one for one in each if _read({"conditions": [one]}) is not None]}
        found = _read({name: value for name, value in given.items() if _read({name: value}) is not None})
    found = found or ScalerStatus()
    return found if len(found.conditions) <= MOST_CONDITIONS else replace(found, conditions=_own(found.conditions))


def _read(status: dict[str, Any]) -> ScalerStatus | None:
    try:
        return msgspec.convert(status, ScalerStatus)
    except msgspec.ValidationError:
        return None


def _own(conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """Those that are a scaler's, each once: every plan reads all of them."""
    first = {each.type: each for each in reversed(conditions)}
    return tuple(first[phase.value] for phase in ScalerPhase if phase.value in first)
