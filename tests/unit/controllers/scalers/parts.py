# SPDX-License-Identifier: Apache-2.0
"""Scalers as an API server sends them."""

from __future__ import annotations

from typing import Any

import msgspec
from tests.unit.controllers.cached import NAMESPACE, fill

from springtide.api.kinds.scalers import SCALE_IN, SCALE_OUT
from springtide.controllers.caches import Caches
from springtide.controllers.scalers.cache import resource_of
from springtide.controllers.views import ScalerView
from springtide.kube.resources import Key, Obj

OUT, IN = resource_of(SCALE_OUT), resource_of(SCALE_IN)
JOB = "bert"


def a_scaler(kind: str = "ScaleOut", name: str = "grow", *, job: str = JOB, owner: str = "", **body: Any) -> Obj:
    """`owner` is the uid of the job that is its controller."""
    resource = OUT if kind == "ScaleOut" else IN
    change = {"toAdd": {"count": 1}} if kind == "ScaleOut" else {"toDelete": {"count": 1}}
    metadata = {"uid": f"u-{name}", "resourceVersion": "7", "creationTimestamp": "2026-11-16T08:00:00Z"}
    if owner:
        reference = {"apiVersion": resource.api_version, "kind": "TrainingJob", "name": job, "uid": owner}
        metadata |= {"ownerReferences": [{**reference, "controller": True}]}  # type: ignore[dict-item]
    found = resource.describe(Key(NAMESPACE, name))
    found["metadata"] |= metadata | body.pop("metadata", {})
    return found | {"spec": {"selector": {"name": job}, **change, **body.pop("spec", {})}} | body


def view(raw: Obj) -> ScalerView:
    return msgspec.convert(raw, ScalerView)


def stored(caches: Caches, *scalers: Obj) -> None:
    for each in scalers:
        fill(caches.scalers.informers[each["kind"]], each)
