# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from springtide.local.access import pki
from springtide.local.access.authentication import user_of_certificate
from springtide.local.access.identity import User

NOW = datetime.now(UTC)  # the TLS library compares certificates with the real clock


@pytest.fixture
def authority(tmp_path: Path) -> pki.Authority:
    return pki.Authority(tmp_path, NOW)


def shake_hands(server: ssl.SSLContext, client: ssl.SSLContext, host: str) -> tuple[ssl.SSLObject, ssl.SSLObject]:
    """A whole TLS handshake in memory."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = server.wrap_bio(to_server, to_client, server_side=True)
    theirs = client.wrap_bio(to_client, to_server, server_hostname=host)
    waiting = {ours, theirs}
    for _ in range(10):
        for side in list(waiting):
            try:
                side.do_handshake()
                waiting.discard(side)
            except ssl.SSLWantReadError:
                continue
    assert not waiting
    return ours, theirs


def test_files_are_for_their_owner_alone(authority: pki.Authority, tmp_path: Path) -> None:
    pki.admin_pair(authority)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_a_restart_uses_what_is_there(authority: pki.Authority, tmp_path: Path) -> None:
    first = pki.server_pair(authority)
    again = pki.Authority(tmp_path, NOW + timedelta(days=100))
    assert again.certificate == authority.certificate
    assert pki.server_pair(again) == first


@pytest.mark.parametrize(
    ("later", "address"),
    [
        pytest.param(timedelta(days=340), pki.SERVICE_ADDRESS, id="near its end"),
        pytest.param(timedelta(0), "10.1.0.1", id="for other addresses"),
    ],
)
def test_a_certificate_is_renewed(authority: pki.Authority, tmp_path: Path, later: timedelta, address: str) -> None:
    first = pki.server_pair(authority)
    again = pki.Authority(tmp_path, NOW + later)
    assert pki.server_pair(again, address).certificate != first.certificate


def test_a_new_authority_reissues_everything(authority: pki.Authority, tmp_path: Path) -> None:
    first = pki.admin_pair(authority)
    (tmp_path / "ca.pem").write_text("damaged")
    again = pki.Authority(tmp_path, NOW)
    assert pki.admin_pair(again).certificate != first.certificate


@pytest.mark.parametrize(
    "host",
    ["localhost", "127.0.0.1", "::1", "10.96.0.1", "kubernetes", "kubernetes.default.svc.cluster.local"],
)
def test_the_server_is_trusted_under_each_of_its_names(authority: pki.Authority, host: str) -> None:
    server = pki.server_context(pki.server_pair(authority), authority.certificate)
    shake_hands(server, pki.client_context(authority.certificate), host)


def test_the_server_is_not_trusted_under_another_name(authority: pki.Authority) -> None:
    server = pki.server_context(pki.server_pair(authority), authority.certificate)
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(server, pki.client_context(authority.certificate), "example.com")


def test_a_client_without_certificate_is_nobody_yet(authority: pki.Authority) -> None:
    server = pki.server_context(pki.server_pair(authority), authority.certificate)
    ours, _ = shake_hands(server, pki.client_context(authority.certificate), "localhost")
    assert user_of_certificate(ours.getpeercert()) is None


def test_a_node_certificates_the_node_and_its_group(authority: pki.Authority) -> None:
    server = pki.server_context(pki.server_pair(authority), authority.certificate)
    client = pki.client_context(authority.certificate, pki.node_pair(authority, "gpu-a", ["127.0.0.1"]))
    ours, _ = shake_hands(server, client, "localhost")
    user = user_of_certificate(ours.getpeercert(), ours.getpeercert(binary_form=True))
    assert user is not None
    assert (user.name, user.groups) == ("system:node:gpu-a", ("system:nodes", "system:authenticated"))
    (credential,) = user.extra["authentication.kubernetes.io/credential-id"]
    assert credential.startswith("X509SHA256=")


def test_the_admin_is_a_master(authority: pki.Authority) -> None:
    server = pki.server_context(pki.server_pair(authority), authority.certificate)
    client = pki.client_context(authority.certificate, pki.admin_pair(authority))
    ours, _ = shake_hands(server, client, "localhost")
    assert user_of_certificate(ours.getpeercert()) == User(
        "kubernetes-admin", groups=("system:masters", "system:authenticated")
    )
