# SPDX-License-Identifier: Apache-2.0
"""Writes what the embedded API server says of its built-in resources, read off a running kube-apiserver.

Discovery and OpenAPI v3 documents are trimmed to the resources in `SERVED` and to the models those reach. Run it with
`make generate`; CI runs it again and fails when a byte differs.

    python hack/generate_discovery.py SERVER TOKEN
"""

from __future__ import annotations

import gzip
import json
import ssl
import sys
import urllib.request
from pathlib import Path
from typing import Any

OUT = Path(__file__).parent.parent / "src/springtide/local/apiserver/generated"

SERVED: dict[str, set[str]] = {
    "v1": {
        "bindings", "configmaps", "endpoints", "events", "namespaces", "nodes", "persistentvolumeclaims",
        "persistentvolumes", "pods", "resourcequotas", "secrets", "serviceaccounts", "services",
    },
    "admissionregistration.k8s.io/v1": {"validatingwebhookconfigurations"},
    "apiextensions.k8s.io/v1": {"customresourcedefinitions"},
    "apps/v1": {"deployments", "replicasets"},
    "authentication.k8s.io/v1": {"selfsubjectreviews", "tokenreviews"},
    "authorization.k8s.io/v1": {
        "localsubjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews", "subjectaccessreviews",
    },
    "autoscaling/v1": {"horizontalpodautoscalers"},
    "autoscaling/v2": {"horizontalpodautoscalers"},
    "batch/v1": {"jobs"},
    "coordination.k8s.io/v1": {"leases"},
    "discovery.k8s.io/v1": {"endpointslices"},
    "events.k8s.io/v1": {"events"},
    "policy/v1": {"poddisruptionbudgets"},
    "rbac.authorization.k8s.io/v1": {"clusterrolebindings", "clusterroles", "rolebindings", "roles"},
    "scheduling.k8s.io/v1": {"priorityclasses"},
    "storage.k8s.io/v1": {"storageclasses"},
}  # fmt: skip

# Subresources that nothing here would act on.
LEFT_OUT = {"pods": {"ephemeralcontainers", "resize"}}


class Oracle:
    def __init__(self, server: str, token: str) -> None:
        self._server, self._token = server, token
        self._context = ssl.create_default_context()
        self._context.check_hostname = False
        self._context.verify_mode = ssl.CERT_NONE  # a throw-away control plane on loopback

    def get(self, path: str, accept: str = "application/json") -> Any:
        request = urllib.request.Request(
            self._server + path, headers={"Authorization": f"Bearer {self._token}", "Accept": accept}
        )
        with urllib.request.urlopen(request, context=self._context) as answer:
            return json.load(answer)


def discovery(oracle: Oracle) -> list[dict[str, Any]]:
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    groups = oracle.get("/api", accept)["items"] + oracle.get("/apis", accept)["items"]
    kept = []
    for group in groups:
        name = group["metadata"].get("name", "")
        for version in group["versions"]:
            served = SERVED.get(f"{name}/{version['version']}" if name else version["version"])
            if not served:
                continue
            resources = [resource for resource in version["resources"] if resource["resource"] in served]
            for resource in resources:
                dropped = LEFT_OUT.get(resource["resource"], set())
                if "subresources" in resource:
                    resource["subresources"] = [
                        sub for sub in resource["subresources"] if sub["subresource"] not in dropped
                    ]
            kept.append({"group": name, "version": version["version"], "resources": resources})
    return kept


def reachable(models: dict[str, Any], roots: Any) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    waiting = [roots]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            ref = value.get("$ref")  # a property of that name (JSONSchemaProps has one) is a dict, not a reference
            name = ref.removeprefix("#/components/schemas/") if isinstance(ref, str) else ""
            if name and name not in kept:
                kept[name] = models[name]
                waiting.append(models[name])
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return dict(sorted(kept.items()))


def trimmed(document: dict[str, Any], base: str, served: set[str]) -> dict[str, Any]:
    paths = {}
    for path, item in document["paths"].items():
        rest = path.removeprefix(base).strip("/").split("/")
        if rest and rest[0] == "watch":
            continue
        if rest[:2] == ["namespaces", "{namespace}"] and len(rest) > 2:
            rest = rest[2:]
        if rest != [""] and rest[0] not in served:
            continue
        if len(rest) > 2 and rest[2] in LEFT_OUT.get(rest[0], set()):
            continue
        paths[path] = item
    return {
        "openapi": document["openapi"],
        "info": {"title": "Springtide embedded API server", "version": document["info"]["version"]},
        "paths": paths,
        "components": {"schemas": reachable(document["components"]["schemas"], paths)},
    }


def main(server: str, token: str) -> None:
    oracle = Oracle(server, token)
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "discovery.json").write_text(json.dumps(discovery(oracle), indent=1) + "\n")
    for group_version, served in sorted(SERVED.items()):
        base = f"/api/{group_version}" if group_version == "v1" else f"/apis/{group_version}"
        document = trimmed(oracle.get("/openapi/v3" + base), base, served)
        raw = json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
        target = OUT / f"openapi.{group_version.replace('/', '.')}.json.gz"
        # Compressed bytes differ between builds of zlib; only a changed content is written.
        if not target.exists() or gzip.decompress(target.read_bytes()) != raw:
            target.write_bytes(gzip.compress(raw, 9, mtime=0))


if __name__ == "__main__":
    main(*sys.argv[1:])
