# SPDX-License-Identifier: Apache-2.0
"""A kopf operator as its users write them: it gives every Box a ConfigMap, keeps it in step, and cleans up."""

from __future__ import annotations

import os
from typing import Any

import kopf
import kubernetes

GROUP = os.environ["BOX_GROUP"]


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    settings.posting.enabled = True
    settings.persistence.finalizer = "boxes.example.com/kopf"


@kopf.on.create(GROUP, "v1", "boxes")
def create(spec: Any, name: str, namespace: str, **_: Any) -> dict[str, str]:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"size": str(spec["size"])}}
    kopf.adopt(body)
    kubernetes.config.load_kube_config()
    kubernetes.client.CoreV1Api().create_namespaced_config_map(namespace, body)
    return {"configmap": name}


@kopf.on.update(GROUP, "v1", "boxes", field="spec.size")
def resize(new: Any, name: str, namespace: str, **_: Any) -> None:
    kubernetes.config.load_kube_config()
    kubernetes.client.CoreV1Api().patch_namespaced_config_map(name, namespace, {"data": {"size": str(new)}})


@kopf.on.delete(GROUP, "v1", "boxes")
def delete(logger: Any, **_: Any) -> None:
    logger.info("box gone")
