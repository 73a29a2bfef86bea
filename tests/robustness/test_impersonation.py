# SPDX-License-Identifier: Apache-2.0
"""Impersonation headers of every kind, by whom they are not meant for, on ordinary, stream and proxy paths."""

from __future__ import annotations

import json

import pytest
from tests.contract.apiserver.servers import Server
from tests.robustness.asking import Answer, send

SPACE = "/api/v1/namespaces/robust"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
WEBSOCKET = (("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Key", "x"))
PATHS = {
    "secrets": (f"{SPACE}/secrets", ()),
    "exec": (f"{SPACE}/pods/p/exec?command=ls", ()),
    "exec by WebSocket": (f"{SPACE}/pods/p/exec?command=ls", (*WEBSOCKET, ("Sec-WebSocket-Version", "13"))),
    "exec by SPDY": (f"{SPACE}/pods/p/exec?command=ls", (("Connection", "Upgrade"), ("Upgrade", "SPDY/3.1"))),
    "a pod's proxy": (f"{SPACE}/pods/p/proxy/x", ()),
    "a node's proxy": ("/api/v1/nodes/n/proxy/x", ()),
    "a path": ("/metrics", ()),
}
Headers = tuple[tuple[str, str], ...]
FORGED: dict[str, Headers] = {
    "an administrator": (("Impersonate-User", "admin"), ("Impersonate-Group", "system:masters")),
    "masters alone": (("Impersonate-Group", "system:masters"),),
    "a user": (("Impersonate-User", "alice"),),
    "no user": (("Impersonate-User", ""), ("Impersonate-Group", "system:masters")),
    "two users": (("Impersonate-User", "mallory"), ("Impersonate-User", "alice")),
    "an empty user before another": (("Impersonate-User", ""), ("Impersonate-User", "alice")),
    "a group among others": (
        ("Impersonate-User", "alice"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "system:masters"),
    ),
    "groups in one line": (("Impersonate-User", "alice"), ("Impersonate-Group", "a, system:masters")),
    "an uid": (("Impersonate-User", "alice"), ("Impersonate-Uid", "1")),
    "an uid alone": (("Impersonate-Uid", "1"),),
    "an extra": (("Impersonate-User", "alice"), ("Impersonate-Extra-Scopes%2Fa", "x")),
    "an extra alone": (("Impersonate-Extra-a", "x"),),
    "a service account": (("Impersonate-User", "system:serviceaccount:kube-system:x"),),
    "a node": (("Impersonate-User", "system:node:n"),),
    "the controller manager": (("Impersonate-User", "system:kube-controller-manager"),),
    "another case": (("iMPERSONATE-uSER", "admin"), ("IMPERSONATE-GROUP", "system:masters")),
    "identity headers of a front proxy": (("X-Remote-User", "admin"), ("X-Remote-Group", "system:masters")),
    "an odd name": (("Impersonate-User", "a\tb%00"),),
}


@pytest.fixture(scope="module")
def token(robust_server: Server) -> str:
    """Of a service account that may impersonate the user mallory, and do nothing else."""
    server = robust_server
    send(server, "POST", f"{SPACE}/serviceaccounts", {"metadata": {"name": "forger"}})
    rule = {"apiGroups": [""], "resources": ["users"], "resourceNames": ["mallory"], "verbs": ["impersonate"]}
    send(server, "POST", f"{RBAC}/clusterroles", {"metadata": {"name": "forger"}, "rules": [rule]})
    binding = {
        "metadata": {"name": "forger"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "forger"},
        "subjects": [{"kind": "ServiceAccount", "namespace": "robust", "name": "forger"}],
    }
    send(server, "POST", f"{RBAC}/clusterrolebindings", binding)
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    made = send(server, "POST", f"{SPACE}/serviceaccounts/forger/token", asked)
    return str(json.loads(made.body)["status"]["token"])


def asked(server: Server, token: str, path: str, headers: Headers) -> Answer:
    """With repeated headers, which a mapping could not hold."""
    connection = server.connection(anonymous=True)
    try:
        connection.putrequest("GET", path)
        for name, value in (("Authorization", f"Bearer {token}"), *headers):
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        return Answer(answer.status, answer.read())
    finally:
        connection.close()


@pytest.mark.parametrize("forged", FORGED)
def test_nobody_becomes_another_without_the_right_to(server: Server, token: str, forged: str) -> None:
    for path, extra in PATHS.values():
        answer = asked(server, token, path, (*FORGED[forged], *extra))
        assert answer.status in (400, 403), (path, answer.body)
        assert answer.status == 400 or json.loads(answer.body)["reason"] == "Forbidden"


@pytest.mark.parametrize("path", PATHS)
def test_who_may_become_another_has_the_rights_of_the_other_alone(server: Server, token: str, path: str) -> None:
    target, extra = PATHS[path]
    answer = asked(server, token, target, (("Impersonate-User", "mallory"), *extra))
    assert answer.status == 403
    assert 'User "mallory" cannot' in answer.message


def test_nobody_impersonates_without_credentials(server: Server) -> None:
    connection = server.connection(anonymous=True)
    try:
        headers = {"Impersonate-User": "admin", "Impersonate-Group": "system:masters"}
        for path, code in (("/healthz", 403), (f"{SPACE}/secrets", 401)):
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == code
    finally:
        connection.close()
