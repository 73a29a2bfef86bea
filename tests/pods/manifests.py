# SPDX-License-Identifier: Apache-2.0
"""Pods in few words. One image, and commands that any image with sh and python3 has."""

from __future__ import annotations

import os
import textwrap
from typing import Any

from springtide.kube.resources import Obj

IMAGE = os.environ.get("SPRINGTIDE_PODS_IMAGE", "python:3.11-slim")

WAIT = "trap 'exit 0' TERM; while :; do sleep 0.1; done"
"""For ever, and ends at once when told to."""


def sh(script: str, name: str = "main", **fields: Any) -> Obj:
    """A container that runs a shell script."""
    return {"name": name, "image": IMAGE, "command": ["sh", "-c", _as_it_is(script)], **fields}


def py(script: str, name: str = "main", **fields: Any) -> Obj:
    """A container that runs a Python program, whose output is not held back."""
    return {
        "name": name,
        "image": IMAGE,
        "command": ["python3", "-u", "-c", _as_it_is(textwrap.dedent(script))],
        **fields,
    }


def _as_it_is(script: str) -> str:
    """Kubernetes replaces $(NAME) and $$ in commands; here the shell is to see them."""
    return script.replace("$", "$$")


def pod(*containers: Obj, name: str = "p", labels: dict[str, str] | None = None, **spec: Any) -> Obj:
    """Ends quickly and is not restarted, unless the test wants it otherwise."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {
            "containers": list(containers),
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 2,
            **spec,
        },
    }


def annotated(manifest: Obj, **annotations: str) -> Obj:
    manifest["metadata"]["annotations"] = annotations
    return manifest


def variable(name: str, **source: Obj) -> Obj:
    """An environment variable from elsewhere: `variable("IP", fieldRef={"fieldPath": "status.podIP"})`."""
    return {"name": name, "valueFrom": source}


def mount(volume: str, path: str, **fields: Any) -> Obj:
    return {"name": volume, "mountPath": path, **fields}


def service(name: str, selector: dict[str, str], *ports: Obj, **spec: Any) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": selector, "ports": list(ports), **spec},
    }


def config_map(name: str, **data: str) -> Obj:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def secret(name: str, **data: str) -> Obj:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data}
