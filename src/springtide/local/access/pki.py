# SPDX-License-Identifier: Apache-2.0
"""The cluster's certificate authority and the certificates that it issues.

`tide up` opens the authority in its data directory at every start and reuses existing valid certificates, so that
kubeconfigs and running clients survive a restart. Key and certificate are in one `NAME.pem` (mode 0600), which makes
replacing a pair atomic. All keys are ECDSA P-256: making such a key takes a millisecond, an RSA key a hundred.
"""

from __future__ import annotations

import fcntl
import os
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from springtide.kube.certificates import (
    Signer,
    authority_certificate,
    certificate_pem,
    hosts_of,
    key_pem,
    new_key,
    subject_name,
)
from springtide.local.access.files import write_private
from springtide.local.access.identity import MASTERS, NODE_PREFIX, NODES

SERVICE_ADDRESS: Final = "10.96.0.1"
ADMIN: Final = "kubernetes-admin"
OPERATOR: Final = "system:springtide-operator"
KUBELET_CLIENT: Final = "kube-apiserver-kubelet-client"

_CA_LIFE: Final = timedelta(days=3650)
_LIFE: Final = timedelta(days=365)
_RENEW: Final = timedelta(days=30)  # before the end; a running cluster renews at its next start


@dataclass(frozen=True, slots=True)
class KeyPair:
    certificate: bytes
    key: bytes
    path: Path
    """File with both, for `ssl.SSLContext.load_cert_chain`."""


@dataclass(frozen=True, slots=True)
class Subject:
    """Subject of a certificate: `groups` are used for clients, `hosts` (names and addresses) for servers."""

    name: str
    groups: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    serves: bool = False
    calls: bool = True


class Authority:
    """A CA in a directory, together with the certificates that it issued."""

    def __init__(self, directory: Path, now: datetime) -> None:
        self._directory = directory
        self._now = now
        path = directory / "ca.pem"
        with _one_at_a_time(directory):  # only one of two concurrent processes may create it
            loaded = _load(path)
            if loaded is None or loaded[1].not_valid_after_utc - now < _LIFE:
                key = new_key()
                certificate = authority_certificate("springtide-ca", key, now, _CA_LIFE)
                write_private(path, key_pem(key) + certificate_pem(certificate))
                loaded = key, certificate
        self._key, self._certificate = loaded

    @property
    def certificate(self) -> bytes:
        """The CA certificate as PEM, which clients must trust, and the content of `kube-root-ca.crt`."""
        return certificate_pem(self._certificate)

    def pair(self, drawer: str, subject: Subject) -> KeyPair:
        """The certificate of this name; made if it is missing, about to expire or for another subject."""
        path = self._directory / f"{drawer}.pem"
        loaded = _load(path)
        if loaded is None or not self._still_good(loaded[1], subject):
            key = new_key()
            loaded = key, self._sign(key.public_key(), subject)
            write_private(path, key_pem(key) + certificate_pem(loaded[1]))
        return KeyPair(certificate_pem(loaded[1]), key_pem(loaded[0]), path)

    def _still_good(self, certificate: x509.Certificate, subject: Subject) -> bool:
        try:
            certificate.verify_directly_issued_by(self._certificate)
        except (ValueError, TypeError, InvalidSignature):  # another issuer, another type of key, a forgery
            return False
        lasting = certificate.not_valid_after_utc - self._now > _RENEW
        return lasting and certificate.subject == _name(subject) and hosts_of(certificate) == set(subject.hosts)

    def _sign(self, key: ec.EllipticCurvePublicKey, subject: Subject) -> x509.Certificate:
        usages = [ExtendedKeyUsageOID.SERVER_AUTH] if subject.serves else []
        usages += [ExtendedKeyUsageOID.CLIENT_AUTH] if subject.calls else []
        signer = Signer(self._certificate.subject, self._key, self._now, _LIFE)
        return signer.sign(_name(subject), key, usages, subject.hosts)


def server_pair(authority: Authority, service_address: str = SERVICE_ADDRESS, more: Sequence[str] = ()) -> KeyPair:
    """The API server's certificate, valid for all its names and addresses."""
    names = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
    hosts = (*names, "kubernetes.default.svc.cluster.local", "127.0.0.1", "::1", service_address, *more)
    return authority.pair("apiserver", Subject("kube-apiserver", hosts=hosts, serves=True, calls=False))


def admin_pair(authority: Authority) -> KeyPair:
    return authority.pair("admin", Subject(ADMIN, groups=(MASTERS,)))


def operator_pair(authority: Authority) -> KeyPair:
    return authority.pair("operator", Subject(OPERATOR))


def kubelet_client_pair(authority: Authority) -> KeyPair:
    """The API server's client certificate for node endpoints (log, exec, attach, metrics)."""
    return authority.pair("apiserver-kubelet-client", Subject(KUBELET_CLIENT, groups=(MASTERS,)))


def node_pair(authority: Authority, node: str, hosts: Sequence[str] = ()) -> KeyPair:
    """A node's client certificate for the API server, which is also its serving certificate."""
    subject = Subject(NODE_PREFIX + node, groups=(NODES,), hosts=(node, *hosts), serves=True)
    return authority.pair(f"node-{node}", subject)


def server_context(pair: KeyPair, client_ca: bytes) -> ssl.SSLContext:
    """TLS 1.2 or newer; a client certificate is optional (tokens are in a header)."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(pair.path)
    context.load_verify_locations(cadata=client_ca.decode())
    context.verify_mode = ssl.CERT_OPTIONAL
    context.set_alpn_protocols(["http/1.1"])
    return context


def client_context(server_ca: bytes | None, pair: KeyPair | None = None) -> ssl.SSLContext:
    """Trusts only this CA; with None the server is not verified (a kubelet with its own certificate)."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if server_ca is None:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    else:
        context.load_verify_locations(cadata=server_ca.decode())
    if pair is not None:
        context.load_cert_chain(pair.path)
    return context


def _name(subject: Subject) -> x509.Name:
    return subject_name(subject.name, subject.groups)


@contextmanager
def _one_at_a_time(directory: Path) -> Iterator[None]:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    with os.fdopen(os.open(directory / "ca.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _load(path: Path) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate] | None:
    """Key and certificate in the file, or None if unusable: a damaged file is replaced like a missing one."""
    try:
        data = path.read_bytes()
        key = serialization.load_pem_private_key(data, password=None)
        certificate = x509.load_pem_x509_certificate(data)
    except (FileNotFoundError, ValueError):
        return None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or certificate.public_key() != key.public_key():
        return None
    return key, certificate
