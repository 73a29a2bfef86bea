# SPDX-License-Identifier: Apache-2.0
"""Authentication by client certificate or bearer token.

The API server calls `Authenticator.authenticate` once per request. A connection's certificate is read once, when it
opens, with `user_of_certificate`. Without credentials only health and version are accessible.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from cryptography import x509
from cryptography.x509.oid import NameOID

from springtide.local import status
from springtide.local.access.identity import ANONYMOUS_USER, AUTHENTICATED, CREDENTIAL_ID, User

ANONYMOUS_PATHS: Final = frozenset({"/healthz", "/livez", "/readyz", "/version"})


class TokenVerifier(Protocol):
    def authenticate(self, token: str) -> User | None:
        """The service account of a token, or None when it is invalid or no longer valid."""


class Authenticator:
    def __init__(self, tokens: TokenVerifier, static_tokens: Mapping[str, User] | None = None) -> None:
        self._tokens = tokens
        self._static = dict(static_tokens or {})

    def authenticate(self, authorization: str, certificate: User | None, path: str) -> User:
        """The user of a request. Raises 401 for bad credentials, and for none except on the anonymous paths."""
        if certificate is not None:
            return certificate
        if not authorization:
            if path in ANONYMOUS_PATHS:
                return ANONYMOUS_USER
            raise status.unauthorized()
        user = self.user_of_token(bearer_token(authorization))
        if user is None:
            raise status.unauthorized()
        return user

    def user_of_token(self, token: str) -> User | None:
        return (self._static.get(token) or self._tokens.authenticate(token)) if token else None

    def static_user(self, token: str) -> User | None:
        return self._static.get(token)


def bearer_token(authorization: str) -> str:
    """The token of an Authorization header, or the empty string for another scheme."""
    scheme, _, token = authorization.strip().partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def user_of_certificate(certificate: Mapping[str, Any] | None, der: bytes | None = None) -> User | None:
    """The user of a verified client certificate: its common name, with its organizations as groups.

    `certificate` is the result of `ssl.SSLObject.getpeercert()`, `der` that of `getpeercert(True)`.
    """
    if not certificate:
        return None
    subject = [pair for rdn in certificate.get("subject", ()) for pair in rdn]
    name = next((value for key, value in subject if key == "commonName"), "")
    if not name:
        return None
    groups = [value for key, value in subject if key == "organizationName"]
    extra = {CREDENTIAL_ID: (f"X509SHA256={hashlib.sha256(der).hexdigest()}",)} if der else {}
    return User(name, groups=with_authenticated(groups), extra=extra)


def user_of_der(der: bytes | None) -> User | None:
    """The user by the certificate's DER bytes, for connections taken over from the HTTP server."""
    if not der:
        return None
    subject = x509.load_der_x509_certificate(der).subject
    names = {NameOID.COMMON_NAME: "commonName", NameOID.ORGANIZATION_NAME: "organizationName"}
    pairs = tuple(((names[part.oid], str(part.value)),) for part in subject if part.oid in names)
    return user_of_certificate({"subject": pairs}, der)


def with_authenticated(groups: Iterable[str]) -> tuple[str, ...]:
    return (*(group for group in groups if group != AUTHENTICATED), AUTHENTICATED)


def read_static_tokens(path: Path) -> dict[str, User]:
    """Read a `--token-auth-file`: lines of token,user,uid[,"group1,group2"]."""
    tokens: dict[str, User] = {}
    with path.open(newline="", encoding="utf-8") as lines:
        for number, row in enumerate(csv.reader(lines), start=1):
            if not row or row[0].startswith("#"):
                continue
            if len(row) < 3 or not row[0]:
                raise ValueError(f"{path}: line {number}: expected token,user,uid and optionally groups")
            groups = [group.strip() for group in row[3].split(",")] if len(row) > 3 and row[3] else []
            tokens[row[0]] = User(row[1], row[2], with_authenticated(groups))
    return tokens
