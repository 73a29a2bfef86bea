# SPDX-License-Identifier: Apache-2.0
"""What the pods of kinds with a launcher share: the config volume, the init container that waits for the host list, the
delivery of kubectl."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from springtide.jobs.observed import Settings
from springtide.jobs.parts import host_files
from springtide.jobs.parts import pod_templates as templates

Raw = dict[str, Any]

FILES: Final = "/etc/mpi"
"""Where the config volume is mounted."""
_KUBECTL: Final = "/opt/kube"
_WAIT: Final = f'until {FILES}/{host_files.GIVEN} "$POD_UID"; do sleep 1; done'


def config_volume(name: str, config: str, keys: Sequence[str], paths: Mapping[str, str] = MappingProxyType({})) -> Raw:
    """A volume of this name with these files of the config object, under other names if `paths` has them. Every user
    may read them, and run the scripts."""
    items = [{"key": key, "path": paths.get(key, key), "mode": 0o555 if key.endswith(".sh") else 0o444} for key in keys]
    return {"name": name, "configMap": {"name": config, "items": items}}


def waiting(name: str, volume: str, alike: Raw) -> Raw:
    """The init container that waits until the launcher gets its hosts. It uses the launcher's image, which has a shell:
    mpirun is usually started by scripts."""
    uid = {"name": "POD_UID", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}
    return {
        "name": name,
        **alike,
        "command": ["/bin/sh", "-c", _WAIT],
        "env": [uid],
        "volumeMounts": [{"name": volume, "mountPath": FILES}],
    }


def deliver_kubectl(spec: Raw, container: str, volume: str, settings: Settings) -> None:
    """If a kubectl image is configured, an init container copies kubectl to the path where kubexec.sh looks for it."""
    if not settings.kubectl_image:
        return
    templates.mount(spec, {"name": volume, "emptyDir": {}}, _KUBECTL)
    amounts = {"cpu": "100m", "memory": "512Mi", "ephemeral-storage": "5Gi"}
    delivery = {
        "name": container,
        "image": settings.kubectl_image,
        "imagePullPolicy": "IfNotPresent",
        "env": templates.variables({"TARGET_DIR": _KUBECTL}),
        "resources": {"requests": amounts, "limits": amounts},
        "volumeMounts": [{"name": volume, "mountPath": _KUBECTL}],
    }
    spec["initContainers"] = [*(spec.get("initContainers") or ()), delivery]
