# SPDX-License-Identifier: Apache-2.0
"""From the cached part of a ScaleOut or ScaleIn to what the engine reads of it. Pure."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec

from springtide.api.kinds.scalers import SCALE_OUT, ScaleInSpec, ScaleOutSpec, ScalerStatus, ToDelete
from springtide.api.validation import scalers
from springtide.controllers.views import ScalerView
from springtide.jobs.reporting import refusing
from springtide.jobs.scaling import phases
from springtide.jobs.scaling.scaler import Scaler
from springtide.kube.resources import Resource


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
    """Any client may write a status; one that cannot be read counts as none."""
    try:
        return msgspec.convert(status or {}, ScalerStatus)
    except msgspec.ValidationError:
        return ScalerStatus()
