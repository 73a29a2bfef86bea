# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from springtide.local.access.jws import SigningKey
from springtide.local.access.token_requests import answer
from springtide.local.access.tokens import ISSUER, ServiceAccountTokens
from springtide.local.status import StatusError

NOW = datetime(2026, 11, 16, 1, 55, 15, tzinfo=UTC)
OBJECTS: dict[tuple[str, str, str], dict[str, Any]] = {
    ("serviceaccounts", "ci", "robot"): {"metadata": {"uid": "sa-1"}},
    ("pods", "ci", "p"): {"metadata": {"uid": "pod-1"}, "spec": {"serviceAccountName": "robot", "nodeName": "n"}},
    ("pods", "ci", "q"): {"metadata": {"uid": "pod-2"}, "spec": {"serviceAccountName": "other"}},
    ("secrets", "ci", "s"): {"metadata": {"uid": "secret-1"}},
}


@pytest.fixture
def key(tmp_path: Path) -> SigningKey:
    return SigningKey(tmp_path / "key")


def ask(key: SigningKey, request: dict[str, Any], name: str = "robot") -> dict[str, Any]:
    tokens = ServiceAccountTokens(key, lambda *_: "", clock=NOW.timestamp)
    return answer(request, "ci", name, tokens, lambda *where: OBJECTS.get(where), NOW)


def test_an_empty_request_gets_an_hour_for_this_server(key: SigningKey) -> None:
    reply = ask(key, {"spec": {}})
    token = reply["status"].pop("token")
    assert reply == {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {
            "name": "robot",
            "namespace": "ci",
            "uid": "sa-1",
            "creationTimestamp": "2026-11-16T01:55:15Z",
        },
        "spec": {"audiences": [ISSUER], "expirationSeconds": 3600, "boundObjectRef": None},
        "status": {"expirationTimestamp": "2026-11-16T02:55:15Z"},
    }
    assert key.verify(token)["exp"] == NOW.timestamp() + 3600


def test_a_pods_projected_token_lives_on_with_a_mark(key: SigningKey) -> None:
    ref = {"kind": "Pod", "apiVersion": "v1", "name": "p", "uid": "pod-1"}
    reply = ask(key, {"spec": {"expirationSeconds": 3607, "boundObjectRef": ref}})
    claims = key.verify(reply["status"]["token"])
    assert reply["status"]["expirationTimestamp"] == "2026-11-16T02:55:22Z"
    assert claims["exp"] == NOW.timestamp() + 365 * 24 * 3600
    assert claims["kubernetes.io"]["warnafter"] == NOW.timestamp() + 3607
    assert claims["kubernetes.io"]["pod"] == {"name": "p", "uid": "pod-1"}
    assert claims["kubernetes.io"]["node"] == {"name": "n"}


def test_a_token_can_hang_on_a_secret(key: SigningKey) -> None:
    reply = ask(key, {"spec": {"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "s"}}})
    assert key.verify(reply["status"]["token"])["kubernetes.io"]["secret"] == {"name": "s", "uid": "secret-1"}


def bound_to(kind: str, name: str, **more: str) -> dict[str, Any]:
    return {"spec": {"boundObjectRef": {"kind": kind, "apiVersion": "v1", "name": name, **more}}}


@pytest.mark.parametrize(
    ("request_", "code", "message"),
    [
        (
            {"spec": {"expirationSeconds": 5}},
            422,
            'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 5: '
            "may not specify a duration less than 10 minutes",
        ),
        (
            {"spec": {"expirationSeconds": 5_000_000_000}},
            422,
            'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 5000000000: '
            "may not specify a duration larger than 2^32 seconds",
        ),
        (
            {"metadata": {"name": "x"}, "spec": {}},
            422,
            'TokenRequest.authentication.k8s.io "robot" is invalid: metadata.name: Invalid value: "x": '
            "must match the service account name if specified",
        ),
        (bound_to("Pod", "nope"), 404, 'pods "nope" not found'),
        (bound_to("Node", "nope"), 404, 'nodes "nope" not found'),
        (bound_to("ConfigMap", "nope"), 400, "cannot bind token to object of type /v1, Kind=ConfigMap"),
        (
            bound_to("Pod", "q"),
            400,
            'cannot bind token for serviceaccount "robot" to pod running with different serviceaccount name.',
        ),
        (
            bound_to("Pod", "p", uid="old"),
            409,
            'Operation cannot be fulfilled on Pod "p": the UID in the bound object reference (old) does not match '
            "the UID in record. The object might have been deleted and then recreated",
        ),
    ],
)
def test_bad_requests_are_refused_as_the_real_server_does(
    key: SigningKey, request_: dict[str, Any], code: int, message: str
) -> None:
    with pytest.raises(StatusError) as refused:
        ask(key, request_)
    assert (refused.value.code, refused.value.message) == (code, message)


def test_a_missing_service_account_is_not_found(key: SigningKey) -> None:
    with pytest.raises(StatusError, match='serviceaccounts "nope" not found'):
        ask(key, {"spec": {}}, "nope")
