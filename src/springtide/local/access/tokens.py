# SPDX-License-Identifier: Apache-2.0
"""Service account tokens: issued for pods and users, verified on every request, bound to existing objects.

A signature is checked once per token; the existence of the service account and of the bound pod is checked every time,
so deleting either revokes the token at once. That look-up is the module's only dependency on the store.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from springtide.local.access.identity import (
    AUTHENTICATED,
    CREDENTIAL_ID,
    NODE_NAME,
    NODE_UID,
    POD_NAME,
    POD_UID,
    User,
    service_account_groups,
    service_account_name,
)
from springtide.local.access.jws import ALGORITHM, BadTokenError, SigningKey

ISSUER: Final = "https://kubernetes.default.svc.cluster.local"
_LEEWAY: Final = 60  # seconds of clock skew allowed
_CACHE_LIMIT: Final = 4096

UidLookup = Callable[[str, str, str], str]
"""(resource, namespace, name) -> the current uid of that object, or the empty string."""


class TokenError(Exception):
    """The reason why a token of this cluster is rejected, as kube-apiserver words it."""


@dataclass(frozen=True, slots=True)
class Reference:
    name: str
    uid: str

    def as_claim(self) -> dict[str, str]:
        return {"name": self.name, "uid": self.uid} if self.uid else {"name": self.name}


@dataclass(frozen=True, slots=True)
class Grant:
    """Content of a token to issue."""

    namespace: str
    account: Reference
    audiences: tuple[str, ...]
    seconds: int
    pod: Reference | None = None
    node: Reference | None = None
    secret: Reference | None = None
    warn_after: int = 0


@dataclass(frozen=True, slots=True)
class _Verified:
    """The content of a token with a valid signature."""

    user: User
    audiences: tuple[str, ...]
    not_before: int
    expires: int
    bound: tuple[tuple[str, str, str, str], ...]  # (resource, namespace, name, uid) that must exist


class ServiceAccountTokens:
    def __init__(
        self, key: SigningKey, uid_of: UidLookup, issuer: str = ISSUER, clock: Callable[[], float] = time.time
    ) -> None:
        self._key = key
        self._uid_of = uid_of
        self._clock = clock
        self._cache: dict[str, _Verified] = {}
        self.issuer = issuer
        self.audiences = (issuer,)
        """Audiences of this API server."""

    def mint(self, grant: Grant) -> str:
        now = int(self._clock())
        private: dict[str, Any] = {"namespace": grant.namespace, "serviceaccount": grant.account.as_claim()}
        for kind, reference in (("pod", grant.pod), ("node", grant.node), ("secret", grant.secret)):
            if reference is not None:
                private[kind] = reference.as_claim()
        if grant.warn_after:
            private["warnafter"] = now + grant.warn_after
        return self._key.sign(
            {
                "aud": list(grant.audiences),
                "exp": now + grant.seconds,
                "iat": now,
                "iss": self.issuer,
                "jti": str(uuid.uuid4()),
                "kubernetes.io": private,
                "nbf": now,
                "sub": service_account_name(grant.namespace, grant.account.name),
            }
        )

    def authenticate(self, token: str) -> User | None:
        try:
            return self.verify(token, self.audiences)[0]
        except (BadTokenError, TokenError):
            return None

    def verify(self, token: str, audiences: Iterable[str]) -> tuple[User, tuple[str, ...]]:
        """The user, and those of the audiences that the token is valid for. Raises BadTokenError or TokenError."""
        verified = self._cache.get(token)
        if verified is None:
            verified = _taken_apart(self._key.verify(token), self.issuer)
            if len(self._cache) >= _CACHE_LIMIT:
                self._cache.clear()
            self._cache[token] = verified
        wanted = tuple(audiences)
        shared = tuple(audience for audience in verified.audiences if audience in wanted)
        if not shared:
            theirs, ours = _quoted(verified.audiences), _quoted(wanted)
            raise TokenError(f"token audiences {theirs} is invalid for the target audiences {ours}")
        self._check_time(verified)
        for reference in verified.bound:
            self._check_alive(*reference)
        return verified.user, shared

    def _check_time(self, verified: _Verified) -> None:
        now = self._clock()
        if now > verified.expires + _LEEWAY:
            raise TokenError("service account token has expired")
        if now < verified.not_before - _LEEWAY:
            raise TokenError("service account token is not valid yet")

    def _check_alive(self, resource: str, namespace: str, name: str, uid: str) -> None:
        current = self._uid_of(resource, namespace, name)
        if current == uid:
            return
        if resource == "serviceaccounts":
            if not current:
                raise TokenError(f'serviceaccounts "{name}" not found')
            raise TokenError(f"service account UID ({current}) does not match claim ({uid})")
        if not current:
            raise TokenError("service account token has been invalidated")
        kind = resource.removesuffix("s")
        raise TokenError(f"{kind} UID ({current}) does not match service account {kind} ref claim ({uid})")

    def discovery(self, base_url: str) -> dict[str, Any]:
        """`/.well-known/openid-configuration`."""
        return {
            "issuer": self.issuer,
            "jwks_uri": f"{base_url}/openid/v1/jwks",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": [ALGORITHM],
        }

    def key_set(self) -> dict[str, Any]:
        """`/openid/v1/jwks`."""
        return {"keys": [self._key.as_jwk()]}


def _taken_apart(claims: Mapping[str, Any], issuer: str) -> _Verified:
    private = claims["kubernetes.io"]
    if claims["iss"] != issuer:
        raise BadTokenError("from another issuer")
    namespace, account = private["namespace"], private["serviceaccount"]
    extra = {CREDENTIAL_ID: (f"JTI={claims['jti']}",)}
    bound = [("serviceaccounts", namespace, account["name"], account["uid"])]
    pod, node, secret = private.get("pod"), private.get("node"), private.get("secret")
    if pod:
        extra |= {POD_NAME: (pod["name"],), POD_UID: (pod["uid"],)}
        bound.append(("pods", namespace, pod["name"], pod["uid"]))
    if node:
        extra |= {NODE_NAME: (node["name"],)} | ({NODE_UID: (node["uid"],)} if node.get("uid") else {})
        if not pod:
            bound.append(("nodes", "", node["name"], node["uid"]))
    if secret:
        bound.append(("secrets", namespace, secret["name"], secret["uid"]))
    user = User(
        service_account_name(namespace, account["name"]),
        account["uid"],
        (*service_account_groups(namespace), AUTHENTICATED),
        extra,
    )
    return _Verified(user, tuple(claims["aud"]), claims["nbf"], claims["exp"], tuple(bound))


def _quoted(words: Iterable[str]) -> str:
    return "[" + " ".join(f'"{word}"' for word in words) + "]"
