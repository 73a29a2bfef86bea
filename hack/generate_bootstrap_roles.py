# SPDX-License-Identifier: Apache-2.0
"""Write the bootstrap RBAC objects of a real kube-apiserver to `access/generated/bootstrap_rbac.json.gz`.

    python hack/generate_bootstrap_roles.py KUBECONFIG [KUBECTL]

The output depends only on the server's version: objects are sorted, what a running server adds (uids, times, aggregated
rules) is left out, and an unchanged content leaves the file alone.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[1] / "src/springtide/local/access/generated/bootstrap_rbac.json.gz"
RESOURCES = ("clusterroles", "clusterrolebindings", "roles", "rolebindings")


def dump(kubectl: str, kubeconfig: str) -> list[dict[str, Any]]:
    command = [kubectl, "--kubeconfig", kubeconfig, "get", ",".join(RESOURCES), "--all-namespaces"]
    command += ["--selector=kubernetes.io/bootstrapping=rbac-defaults", "--output=json"]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    objects = [trimmed(item) for item in answer["items"]]
    return sorted(objects, key=lambda obj: (obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"]["name"]))


def trimmed(obj: dict[str, Any]) -> dict[str, Any]:
    kept = ("name", "namespace", "labels", "annotations")
    obj["metadata"] = {key: obj["metadata"][key] for key in kept if key in obj["metadata"]}
    if "aggregationRule" in obj:
        obj["rules"] = []  # a controller fills them in; which roles it finds depends on the cluster
    return obj


def main() -> None:
    kubeconfig = sys.argv[1]
    kubectl = sys.argv[2] if len(sys.argv) > 2 else "kubectl"
    content = json.dumps(dump(kubectl, kubeconfig), sort_keys=True, separators=(",", ":")).encode()
    if TARGET.exists() and gzip.decompress(TARGET.read_bytes()) == content:
        return
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_bytes(gzip.compress(content, mtime=0))


if __name__ == "__main__":
    main()
