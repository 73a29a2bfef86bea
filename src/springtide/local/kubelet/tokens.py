# SPDX-License-Identifier: Apache-2.0
"""Service-account tokens for pods: requested once, cached, and renewed when four fifths of their life are over.

When a renewal fails the old token is used while it is valid, so a temporary outage of the API server deprives no pod of
its rights. Time is wall-clock time because a token's expiry is; a suspended machine renews late, and after the clock
was set back tokens are not valid yet, so they are renewed at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.resources import SERVICEACCOUNTS, Key

LONGEST_LIFE = 24 * 3600.0
"""However long a token lives, it is renewed every day."""
HOUR = 3600
CLOCK_STEP = 1.0
"""Seconds that a clock may be set back, as small corrections do, without a token becoming invalid."""


class TokenError(Exception):
    """There is no valid token, and none could be requested."""


class Wanted(NamedTuple):
    """One token: account, audience, lifetime, and the pod it is bound to."""

    account: Key
    audience: str
    seconds: int
    pod: str
    uid: str

    @classmethod
    def by(cls, pod: Mapping[str, Any], source: Mapping[str, Any]) -> Wanted:
        """The token that a serviceAccountToken source of a projected volume asks for."""
        metadata = pod["metadata"]
        account = Key(metadata["namespace"], pod["spec"].get("serviceAccountName") or "default")
        seconds = int(source.get("expirationSeconds") or HOUR)
        return cls(account, source.get("audience") or "", seconds, metadata["name"], metadata["uid"])

    def request(self) -> dict[str, Any]:
        bound = {"apiVersion": "v1", "kind": "Pod", "name": self.pod, "uid": self.uid}
        spec: dict[str, Any] = {"expirationSeconds": self.seconds, "boundObjectRef": bound}
        if self.audience:
            spec["audiences"] = [self.audience]
        return {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}


@dataclass(frozen=True, slots=True)
class Token:
    text: str
    issued: float
    expires: float

    def is_due(self, now: float) -> bool:
        """Whether to renew the token."""
        life = min((self.expires - self.issued) * 0.8, LONGEST_LIFE)
        return not self.issued - CLOCK_STEP <= now < self.issued + life


class Tokens:
    def __init__(self, client: Client, clock: Callable[[], float] = time.time) -> None:
        self._client = client
        self._clock = clock
        self._known: dict[Wanted, Token] = {}

    async def get(self, wanted: Wanted) -> str:
        known, now = self._known.get(wanted), self._clock()
        if known is not None and not known.is_due(now):
            return known.text
        try:
            answer = await self._client.create(
                SERVICEACCOUNTS, wanted.request(), on=wanted.account, subresource="token"
            )
        except errors.ApiError as error:
            if known is not None and now < known.expires:
                return known.text
            raise TokenError(f"failed to fetch token: {error}") from None
        token = self._known[wanted] = _token(answer, now)
        return token.text

    def __bool__(self) -> bool:
        """Whether there is any token that will need renewal."""
        return bool(self._known)

    def due(self) -> set[str]:
        """The uids of pods with a token that should be renewed now."""
        now = self._clock()
        return {wanted.uid for wanted, token in self._known.items() if token.is_due(now)}

    def forget(self, uid: str) -> None:
        self._known = {wanted: token for wanted, token in self._known.items() if wanted.uid != uid}


def _token(answer: Mapping[str, Any], now: float) -> Token:
    status = answer["status"]
    expires = datetime.fromisoformat(status["expirationTimestamp"]).timestamp()
    return Token(status["token"], now, max(expires, now))
