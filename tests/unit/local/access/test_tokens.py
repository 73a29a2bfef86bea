# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from springtide.local.access.jws import BadTokenError, SigningKey
from springtide.local.access.tokens import ISSUER, Grant, Reference, ServiceAccountTokens, TokenError

NOW = 1_800_000_000


class World:
    """The uids that exist, and the time."""

    def __init__(self) -> None:
        self.uids = {("serviceaccounts", "ci", "robot"): "sa-1", ("pods", "ci", "job-0"): "pod-1"}
        self.now = float(NOW)

    def uid_of(self, resource: str, namespace: str, name: str) -> str:
        return self.uids.get((resource, namespace, name), "")


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def tokens(tmp_path: Path, world: World) -> ServiceAccountTokens:
    return ServiceAccountTokens(SigningKey(tmp_path / "sa.key"), world.uid_of, clock=lambda: world.now)


def a_grant(**changes: Any) -> Grant:
    fields: dict[str, Any] = {"namespace": "ci", "account": Reference("robot", "sa-1"), "audiences": (ISSUER,)}
    return Grant(**{**fields, "seconds": 3600, **changes})


POD_GRANT = a_grant(pod=Reference("job-0", "pod-1"), node=Reference("gpu-a", "node-1"))


def test_a_token_says_whose_it_is(tokens: ServiceAccountTokens) -> None:
    user = tokens.authenticate(tokens.mint(POD_GRANT))
    assert user is not None
    assert (user.name, user.uid) == ("system:serviceaccount:ci:robot", "sa-1")
    assert user.groups == ("system:serviceaccounts", "system:serviceaccounts:ci", "system:authenticated")
    credential = user.extra["authentication.kubernetes.io/credential-id"][0]
    assert credential.startswith("JTI=")
    assert {key: values for key, values in user.extra.items() if "credential" not in key} == {
        "authentication.kubernetes.io/pod-name": ("job-0",),
        "authentication.kubernetes.io/pod-uid": ("pod-1",),
        "authentication.kubernetes.io/node-name": ("gpu-a",),
        "authentication.kubernetes.io/node-uid": ("node-1",),
    }


def test_claims_are_those_of_the_real_server(tokens: ServiceAccountTokens, tmp_path: Path) -> None:
    claims = SigningKey(tmp_path / "sa.key").verify(tokens.mint(POD_GRANT))
    assert len(claims.pop("jti")) == 36
    assert claims == {
        "aud": [ISSUER],
        "exp": NOW + 3600,
        "iat": NOW,
        "nbf": NOW,
        "iss": ISSUER,
        "sub": "system:serviceaccount:ci:robot",
        "kubernetes.io": {
            "namespace": "ci",
            "serviceaccount": {"name": "robot", "uid": "sa-1"},
            "pod": {"name": "job-0", "uid": "pod-1"},
            "node": {"name": "gpu-a", "uid": "node-1"},
        },
    }


def test_the_key_survives_a_restart(tmp_path: Path) -> None:
    first = SigningKey(tmp_path / "sa.key")
    again = SigningKey(tmp_path / "sa.key")
    assert again.verify(first.sign({"a": 1})) == {"a": 1}
    assert (tmp_path / "sa.key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("key", "uid", "message"),
    [
        (("serviceaccounts", "ci", "robot"), "", 'serviceaccounts "robot" not found'),
        (("serviceaccounts", "ci", "robot"), "sa-2", "service account UID (sa-2) does not match claim (sa-1)"),
        (("pods", "ci", "job-0"), "", "service account token has been invalidated"),
        (("pods", "ci", "job-0"), "p2", "pod UID (p2) does not match service account pod ref claim (pod-1)"),
    ],
    ids=["account gone", "account replaced", "pod gone", "pod replaced"],
)
def test_a_token_dies_with_what_it_is_bound_to(
    tokens: ServiceAccountTokens, world: World, key: tuple[str, str, str], uid: str, message: str
) -> None:
    token = tokens.mint(POD_GRANT)
    assert tokens.authenticate(token) is not None
    world.uids[key] = uid
    assert tokens.authenticate(token) is None
    with pytest.raises(TokenError) as refused:
        tokens.verify(token, [ISSUER])
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("shift", "message"),
    [(3661, "service account token has expired"), (-61, "service account token is not valid yet")],
)
def test_a_token_has_its_time(tokens: ServiceAccountTokens, world: World, shift: int, message: str) -> None:
    token = tokens.mint(a_grant())
    world.now += shift
    with pytest.raises(TokenError, match=message):
        tokens.verify(token, [ISSUER])


def test_a_token_for_another_audience_is_refused(tokens: ServiceAccountTokens) -> None:
    token = tokens.mint(a_grant(audiences=("vault", "other")))
    assert tokens.authenticate(token) is None
    assert tokens.verify(token, ["vault"])[1] == ("vault",)
    with pytest.raises(TokenError) as refused:
        tokens.verify(token, ["x"])
    assert str(refused.value) == 'token audiences ["vault" "other"] is invalid for the target audiences ["x"]'


@pytest.mark.parametrize(
    "spoil",
    [lambda t: t[:-4] + "AAAA", lambda t: t + "é", lambda t: "a.b.c", lambda t: t[:-9]],
    ids=["other signature", "not ASCII", "not a token", "cut short"],
)
def test_a_forged_token_is_nobodys(tokens: ServiceAccountTokens, spoil: Any) -> None:
    token = spoil(tokens.mint(a_grant()))
    assert tokens.authenticate(token) is None
    with pytest.raises(BadTokenError):
        tokens.verify(token, [ISSUER])


def test_a_changed_payload_does_not_verify(tokens: ServiceAccountTokens) -> None:
    header, _, signature = tokens.mint(a_grant()).split(".")
    payload = tokens.mint(a_grant(account=Reference("root", "sa-0"))).split(".")[1]
    assert tokens.authenticate(f"{header}.{payload}.{signature}") is None


def test_discovery_lists_the_public_key(tokens: ServiceAccountTokens) -> None:
    assert tokens.discovery("https://127.0.0.1:6443")["jwks_uri"] == "https://127.0.0.1:6443/openid/v1/jwks"
    (key,) = tokens.key_set()["keys"]
    assert (key["kty"], key["crv"], key["alg"], key["use"]) == ("EC", "P-256", "ES256", "sig")
