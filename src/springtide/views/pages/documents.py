# SPDX-License-Identifier: Apache-2.0
"""Jobs as documents for other programs: Arena's, and ours, which has Arena's fields and more.

In both `status` is Arena's word. Ours has `state` and all else that Arena does not know, and is the object of
`-o jsonpath` and `-o custom-columns`, too. Its fields stay; new ones may come.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from springtide.views.instances import InstanceView
from springtide.views.jobs import JobView

Document = dict[str, Any]
NOTHING: Final = "N/A"

_YAML_NAMES: Final = {"modelName": "modelname", "modelVersion": "modelversion", "modelSource": "modelsource"}
"""Fields that Arena names otherwise in YAML."""


def arena_document(view: JobView, now: datetime, tensorboard: str = "") -> Document:
    """`tensorboard` is the address of the job's TensorBoard."""
    chief = view.chief
    return {
        "uuid": view.uid,
        "name": view.name,
        "namespace": view.namespace,
        "duration": _seconds(view.duration(now)),
        "status": view.arena_status,
        "trainer": view.trainer,
        "tensorboard": tensorboard,
        "chiefName": chief.name if chief is not None else "",
        "instances": [_arena_instance(each, now) for each in view.instances],
        "priority": view.priority or NOTHING,
        "requestGPUs": view.requested_gpus,
        "allocatedGPUs": view.allocated_gpus,
        "creationTimestamp": _timestamp(view.created),
        "modelName": view.model_name,
        "modelVersion": view.model_version,
        "modelSource": "",
    }


def arena_yaml(document: Document) -> Document:
    """The same document as Arena shows it in YAML."""
    return {_YAML_NAMES.get(name, name): value for name, value in document.items()}


def document(view: JobView, now: datetime, tensorboard: str = "") -> Document:
    progress = view.progress
    instances = [
        _arena_instance(each, now) | {"role": each.role, "ready": each.ready, "restarts": each.restarts}
        for each in view.instances
    ]
    return arena_document(view, now, tensorboard) | {
        "instances": instances,
        "kind": view.kind,
        "state": view.state,
        "explanation": view.explanation,
        "workers": view.workers,
        "size": view.size,
        "minSize": view.min_size,
        "maxSize": view.max_size,
        "node": view.node,
        "nodeIP": view.node_ip,
        "created": _time(view.created),
        "started": _time(view.started),
        "ended": _time(view.ended),
        "progress": None
        if progress is None
        else {
            "step": progress.step,
            "loss": progress.loss,
            "ranks": progress.ranks,
            "updated": _time(progress.updated),
        },
    }


def _arena_instance(instance: InstanceView, now: datetime) -> Document:
    gpu_metrics: Mapping[str, Any] = {}  # Arena reads them from Prometheus
    return {
        "ip": instance.ip,
        "status": instance.status,
        "name": instance.name,
        "age": _seconds(instance.duration(now)),
        "node": NOTHING if instance.pending else instance.node,
        "nodeIP": NOTHING if instance.pending else instance.node_ip,
        "chief": instance.is_chief,
        "requestGPUs": instance.gpus,
        "gpuMetrics": gpu_metrics,
        "creationTimestamp": _timestamp(instance.created),
    }


def _seconds(span: float) -> str:
    return f"{int(span)}s"


def _timestamp(moment: datetime | None) -> int:
    return int(moment.timestamp()) if moment is not None else 0


def _time(moment: datetime | None) -> str | None:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if moment is not None else None
