# SPDX-License-Identifier: Apache-2.0
"""The webhook's certificate: self-made, and shared by all operators of a cluster.

It is stored in a Secret, together with the CA that signed it. The CA's key is discarded at once: it signs one
certificate and cannot be misused. A renewal is therefore a new CA, and `ca.crt` includes the earlier ones until they
expire, because other operators use their old certificate until their next check.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import ExtendedKeyUsageOID

from springtide.controllers.prerequisites import MissingError
from springtide.kube import errors
from springtide.kube.certificates import (
    Signer,
    authority_certificate,
    certificate_pem,
    hosts_of,
    key_pem,
    new_key,
    subject_name,
)
from springtide.kube.client import Client
from springtide.kube.resources import SECRETS, Key, Obj

LIFE: Final = timedelta(days=365)
RENEWAL: Final = timedelta(days=120)
"""Before expiry: an operator checks every hour, but a cluster may be switched off for months."""
_BACKDATE: Final = timedelta(days=1)  # for clocks that are slow, or are set back
_CA_NAME: Final = "springtide-webhook-ca"
_KEPT: Final = 3
_TRIES: Final = 5
_CA, _CERTIFICATE, _KEY = "ca.crt", "tls.crt", "tls.key"


@dataclass(frozen=True, slots=True)
class Bundle:
    """All in PEM."""

    ca: bytes
    """The trusted CAs: the signer of the certificate first, then earlier ones."""
    certificate: bytes
    key: bytes


async def shared(client: Client, secret: Key, hosts: Sequence[str], clock: Callable[[], datetime]) -> Bundle:
    """The bundle of that Secret, created or renewed if necessary. If several operators do so at once, one succeeds and
    the others use its bundle."""
    for _ in range(_TRIES):
        found = await client.find(SECRETS, secret)
        known = read(found) if found else None
        if known is not None and not due(known, hosts, clock()):
            return known
        new = made(hosts, clock(), known.ca if known else b"")
        try:
            await _write(client, secret, found, new)
        except (errors.AlreadyExists, errors.Conflict):
            continue
        except errors.NotFound:
            if found is not None:
                continue
            raise MissingError(
                f"the namespace {secret.namespace} does not exist, where the webhook keeps its certificate\n"
                f"Create it first: kubectl create namespace {secret.namespace}"
            ) from None
        return new
    raise errors.Conflict(f"the Secret {secret} is changed by others all the time")


async def _write(client: Client, secret: Key, found: Obj | None, bundle: Bundle) -> None:
    data = {_CA: bundle.ca, _CERTIFICATE: bundle.certificate, _KEY: bundle.key}
    encoded = {"data": {name: b64encode(each).decode() for name, each in data.items()}}
    if found is None:
        await client.create(SECRETS, SECRETS.describe(secret) | {"type": "kubernetes.io/tls"} | encoded)
    else:
        await client.replace(SECRETS, found | encoded)


def read(secret: Mapping[str, Any]) -> Bundle | None:
    """None if the Secret's content is invalid: it is then replaced."""
    data = secret.get("data") or {}
    try:
        parts = [b64decode(data[name], validate=True) for name in (_CA, _CERTIFICATE, _KEY)]
        key = serialization.load_pem_private_key(parts[2], password=None)
        x509.load_pem_x509_certificates(parts[0])
        certificate = x509.load_pem_x509_certificate(parts[1])
    except (KeyError, NotBase64, ValueError, TypeError):
        return None
    return Bundle(*parts) if certificate.public_key() == key.public_key() else None


def due(bundle: Bundle, hosts: Sequence[str], now: datetime) -> bool:
    """Whether a new bundle is needed: it expires soon, or is for other hosts."""
    certificate = x509.load_pem_x509_certificate(bundle.certificate)
    return certificate.not_valid_after_utc - now < RENEWAL or hosts_of(certificate) != set(hosts)


def made(hosts: Sequence[str], now: datetime, former: bytes = b"") -> Bundle:
    """A new bundle. `former` is the `ca` of the one that it replaces."""
    authority, key = new_key(), new_key()
    ca = authority_certificate(_CA_NAME, authority, now, LIFE, path_length=0)
    name, usages = subject_name("springtide-webhook"), [ExtendedKeyUsageOID.SERVER_AUTH]
    certificate = Signer(ca.subject, authority, now, LIFE).sign(name, key.public_key(), usages, hosts)
    trusted = [ca, *(each for each in _certificates(former) if each.not_valid_after_utc > now)][:_KEPT]
    return Bundle(b"".join(certificate_pem(each) for each in trusted), certificate_pem(certificate), key_pem(key))


def _certificates(pem: bytes) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(pem) if pem else []
