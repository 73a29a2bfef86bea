# SPDX-License-Identifier: Apache-2.0
"""Which rights open which stream: subresource x method x protocol x verbs granted, asked of a server.

The real server's verdicts are kept in `stream_rights.json`; `make record` writes them anew.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.contract.apiserver.servers import Server, oracle

RECORDED = Path(__file__).with_name("stream_rights.json")
RBAC = "/apis/rbac.authorization.k8s.io/v1"
KEY = {"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version": "13"}
PROTOCOLS: dict[str, dict[str, str]] = {
    "plain": {},
    "websocket": {"Upgrade": "websocket", "Sec-WebSocket-Protocol": "v5.channel.k8s.io", **KEY},
    "spdy": {"Upgrade": "SPDY/3.1", "X-Stream-Protocol-Version": "v4.channel.k8s.io"},
}
RIGHTS = {
    "GET": ("get", "create", "get+create"),
    "POST": ("get", "create", "get+create"),
    "PUT": ("get+create", "update"),
    "PATCH": ("get+create", "patch"),
    "DELETE": ("get+create", "delete"),
    "HEAD": ("get", "create"),
    "OPTIONS": ("get+create",),
}
SUBRESOURCES = ("pods/exec", "pods/attach", "pods/portforward", "pods/proxy", "services/proxy", "nodes/proxy")
NODE_PATHS = tuple(f"nodes/proxy/{verb}" for verb in ("exec", "attach", "portForward", "run", "direct"))
FORBIDDEN, BAD_METHOD, NO_PATH, THROUGH = "forbidden", "bad method", "no such path", "through"


def rows() -> Iterator[tuple[str, str, str, str]]:
    for target in (*SUBRESOURCES, *NODE_PATHS):
        for method, rights in RIGHTS.items():
            if target in SUBRESOURCES or method in ("GET", "POST"):
                yield from ((target, method, protocol, right) for protocol in PROTOCOLS for right in rights)


class Asking:
    """A pod, a service and a node that has no address, so that whoever is let through gets no further."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._name = f"rights-{uuid.uuid4().hex[:8]}"
        self._space = f"/api/v1/namespaces/{self._name}"
        self._make()

    def path(self, target: str, tail: str = "x") -> str:
        kind, _, subresource = target.partition("/")
        place = self._space if kind != "nodes" else "/api/v1"
        subresource, _, verb = subresource.partition("/")
        rest = f"/{verb}/{self._name}/web/c" if verb else f"/{tail}" if subresource == "proxy" else ""
        query = "?command=ls&stdout=1" if subresource in ("exec", "attach") else ""
        name = {"pods": "web", "services": "web:80", "nodes": self._name}[kind]
        return f"{place}/{kind}/{name}/{subresource}{rest}{query}"

    def verdict(self, path: str, method: str, protocol: str, right: str) -> str:
        upgrade = PROTOCOLS[protocol]
        headers = {"Impersonate-User": f"{self._name}-{right}", **upgrade}
        if upgrade:
            headers["Connection"] = "Upgrade"
        status, body = self._ask(method, path, None, headers)
        if status == 403 and b"is forbidden" in body:
            return FORBIDDEN
        if status == 405:
            return BAD_METHOD
        if status == 403 and method == "HEAD":
            return FORBIDDEN
        if b"the server could not find the requested resource" in body:
            return NO_PATH
        return THROUGH

    def table(self) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        for target, method, protocol, right in rows():
            verdict = self.verdict(self.path(target), method, protocol, right)
            found.setdefault(target, {})[f"{method} {protocol} {right}"] = verdict
        return found

    def _make(self) -> None:
        container = {"name": "c", "image": "x"}
        spec = {"nodeName": self._name, "automountServiceAccountToken": False, "containers": [container]}
        self._post("/api/v1/namespaces", {"metadata": {"name": self._name}})
        self._post(f"{self._space}/serviceaccounts", {"metadata": {"name": "default"}})
        self._post("/api/v1/nodes", {"metadata": {"name": self._name}})
        self._post(f"{self._space}/pods", {"metadata": {"name": "web"}, "spec": spec})
        self._post(f"{self._space}/services", {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}})
        for right in {right for rights in RIGHTS.values() for right in rights}:
            name = f"{self._name}-{right}".replace("+", "-and-")
            rule = {"apiGroups": [""], "resources": list(SUBRESOURCES), "verbs": right.split("+")}
            role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
            user = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": f"{self._name}-{right}"}
            self._post(f"{RBAC}/clusterroles", {"metadata": {"name": name}, "rules": [rule]})
            self._post(f"{RBAC}/clusterrolebindings", {"metadata": {"name": name}, "roleRef": role, "subjects": [user]})
        self._until_known()

    def _until_known(self) -> None:
        """The real server's authorizer follows new roles with a delay."""
        for method, rights in RIGHTS.items():
            own = rights[-1]
            while method not in ("HEAD", "OPTIONS") and (
                self.verdict(self.path("nodes/proxy"), method, "plain", own) == FORBIDDEN
            ):
                pass

    def _post(self, path: str, obj: Any) -> None:
        status, body = self._ask("POST", path, json.dumps(obj).encode(), {"Content-Type": "application/json"})
        assert status in (201, 409), (path, body)

    def _ask(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, bytes]:
        connection = self._server.connection()
        try:
            connection.request(method, quote(path, safe="/?&=:%"), body, {**self._server.headers, **headers})
            answer = connection.getresponse()
            return answer.status, b"" if answer.status == 101 else answer.read()
        finally:
            connection.close()


def recorded() -> dict[str, dict[str, str]]:
    """The verdicts of the real server."""
    found: dict[str, dict[str, str]] = json.loads(RECORDED.read_text())
    return found


def expected() -> dict[str, dict[str, str]]:
    """The verdicts of the embedded server: on a node's paths into containers, `get` alone is not enough."""
    table = recorded()
    for target in NODE_PATHS:
        for row in table[target]:
            if row.startswith("GET ") and not row.endswith("create"):
                table[target][row] = FORBIDDEN
    return table


if __name__ == "__main__":
    RECORDED.write_text(json.dumps(Asking(oracle()).table(), indent=1) + "\n")
