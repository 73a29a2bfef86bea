# SPDX-License-Identifier: Apache-2.0
"""Caches with contents, and no server behind them unless a test wants one."""

from __future__ import annotations

from typing import Any

import msgspec
from tests.unit.api.builders import an_mpijob
from tests.unit.kube.fake_api import FakeApi

from springtide.api.defaults.mpijob import MPI, defaulted
from springtide.api.job import Job
from springtide.api.kinds.scalers import SCALE_IN, SCALE_OUT
from springtide.controllers.caches import Caches
from springtide.controllers.views import PodView
from springtide.kube.client import Client
from springtide.kube.informer import Informer, Informers
from springtide.kube.resources import Key, Obj, Resource
from springtide.kube.watch import Decoder

NAMESPACE, NAME, UID = "ns", "pi", "u-1"
LABELS = {"springtide.dev/job": NAME, "springtide.dev/kind": "MPIJob"}
OWNER = {"apiVersion": "kubeflow.org/v1", "kind": "MPIJob", "name": NAME, "uid": UID, "controller": True}


def caches(api: FakeApi | None = None, gang_scheduler: str = "") -> Caches:
    scalers = {"TrainingJob": (SCALE_OUT, SCALE_IN)}
    return Caches(Informers(Client(api or FakeApi())), "", gang_scheduler, scalers=scalers)


def a_job(version: str = "v1") -> Job[MPI]:
    return defaulted(an_mpijob(version))


def made(resource: Resource, name: str, *, owner: Obj | None = OWNER, labels: Obj | None = None, **body: Any) -> Obj:
    """An object that was made for the job, unless its owner is somebody else."""
    found = resource.describe(Key(NAMESPACE if resource.namespaced else "", name))
    found["metadata"] |= {"uid": f"uid-{name}", "resourceVersion": "7", "labels": {**LABELS, **(labels or {})}}
    if owner is not None:
        found["metadata"]["ownerReferences"] = [owner]
    found["metadata"] |= body.pop("metadata", {})
    return found | body


def fill(informer: Informer[Any], *objects: Obj) -> None:
    """As the watch would."""
    decoder: Decoder[Any] = Decoder(_type_of(informer), informer.resource)
    for each in objects:
        decoded = decoder(msgspec.json.encode(each))
        assert decoded is not None
        informer._notify(informer.put(decoded.key, decoded.version, decoded.object))


def pod_view(raw: Obj) -> PodView:
    return msgspec.convert(raw, PodView)


def _type_of(informer: Informer[Any]) -> type[Any]:
    found: type[Any] = informer._decoder._body.type
    return found
