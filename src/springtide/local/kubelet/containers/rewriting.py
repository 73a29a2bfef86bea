# SPDX-License-Identifier: Apache-2.0
"""Rewriting a pod's absolute paths to paths of this machine, where nothing can be mounted.

Only command, arguments and variables are rewritten. Paths inside programs and files cannot be, and client libraries
read the in-cluster files at a fixed path, so programs get a KUBECONFIG instead. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
"""Where client libraries look for the pod's token."""


class Rewriter:
    def __init__(self, places: Mapping[str, str]) -> None:
        """`places`: absolute path in the pod → path of this machine."""
        self._places = {path.rstrip("/"): place for path, place in places.items() if path != "/"}
        longest_first = sorted(self._places, key=len, reverse=True)
        names = "|".join(re.escape(path) for path in longest_first)
        # A whole path: `/data` in `--in=/data/x:/data`, but not in `/database`, `/my/data` or `http://host/data`.
        self._pattern = re.compile(rf"(?<![\w./~-])(?:{names})(?![\w.-])") if names else None

    def text(self, text: str) -> str:
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda match: self._places[match[0]], text)

    def texts(self, texts: Iterable[str]) -> tuple[str, ...]:
        return tuple(self.text(text) for text in texts)

    def values(self, variables: Mapping[str, str]) -> dict[str, str]:
        return {name: self.text(value) for name, value in variables.items()}


def kubeconfig(server: str, account: Path, namespace: str) -> str:
    """A kubeconfig with the rights of a pod's token, for programs that read $KUBECONFIG. JSON, which is YAML as
    well."""
    cluster = {"server": server, "certificate-authority": str(account / "ca.crt")}
    context = {"cluster": "in-cluster", "user": "in-cluster", "namespace": namespace}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "in-cluster", "cluster": cluster}],
        "users": [{"name": "in-cluster", "user": {"tokenFile": str(account / "token")}}],
        "contexts": [{"name": "in-cluster", "context": context}],
        "current-context": "in-cluster",
    }
    return json.dumps(config, indent=2) + "\n"


def cannot_work(pod: Mapping[str, Any]) -> str:
    """What of this pod cannot work without namespaces, in one sentence; empty if there is nothing."""
    spec = pod["spec"]
    containers = (*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))
    mounts = (mount["mountPath"] for container in containers for mount in container.get("volumeMounts") or ())
    paths = list(dict.fromkeys(path for path in mounts if path != ACCOUNT))
    parts = []
    if paths:
        parts.append(f"{_listed(paths)} exist only where command, args and env name them")
    if spec.get("hostAliases"):
        parts.append("hostAliases have no effect")
    if any((container.get("securityContext") or {}).get("readOnlyRootFilesystem") for container in containers):
        parts.append("readOnlyRootFilesystem has no effect")
    if not parts:
        return ""
    return f"this machine allows no namespaces, so {'; '.join(parts)}. See what is missing: tide doctor"


def _listed(paths: Sequence[str]) -> str:
    return paths[0] if len(paths) == 1 else f"{', '.join(paths[:-1])} and {paths[-1]}"
