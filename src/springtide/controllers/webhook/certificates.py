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
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from springtide.controllers.prerequisites import MissingError
from springtide.kube import errors
from springtide.kube.certificate_names import alternative_names, hosts_of
from springtide.kube.client import Client
from springtide.kube.resources import SECRETS, Key, Obj

LIFE: Final = timedelta(days=365)
RENEWAL: Final = timedelta(days=120)
"""Before expiry: an operator checks every hour, but a cluster may be switched off for months."""
_BACKDATE: Final = timedelta(days=1)  # for clocks that are slow, or are set back
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
    """A new bundle. `former` is the `ca` of the one it replaces."""
    authority, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer, subject = _name("springtide-webhook-ca"), _name("springtide-webhook")
    ca = (
        _builder(subject=issuer, issuer=issuer, key=authority, now=now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(authority.public_key()), critical=False)
        .sign(authority, hashes.SHA256())
    )
    certificate = (
        _builder(subject=subject, issuer=issuer, key=key, now=now)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key()), critical=False)
        .add_extension(alternative_names(hosts), critical=False)
        .sign(authority, hashes.SHA256())
    )
    trusted = [ca, *(each for each in _certificates(former) if each.not_valid_after_utc > now)][:_KEPT]
    return Bundle(b"".join(_pem(each) for each in trusted), _pem(certificate), _key_pem(key))


def _certificates(pem: bytes) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(pem) if pem else []


def _builder(
    *, subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATE)
        .not_valid_after(now + LIFE)
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _key_usage(signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return key.private_bytes(encoding, form, serialization.NoEncryption())
