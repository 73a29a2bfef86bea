# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import ssl
import subprocess
import sys
import tempfile
from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from springtide.kube import config
from springtide.kube.config import TOKEN_RELOAD, ConfigError, Reloaded


@pytest.fixture(scope="module")
def ca() -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def kubeconfig(folder: Path, user: dict[str, object], cluster: dict[str, object] | None = None) -> str:
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [
            {"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "team"}},
            {"name": "there", "context": {"cluster": "c", "user": "u"}},
        ],
        "clusters": [{"name": "c", "cluster": {"server": "https://example.test:6443/", **(cluster or {})}}],
        "users": [{"name": "u", "user": user}],
    }
    path = folder / "config"
    path.write_text(yaml.safe_dump(content))
    return str(path)


async def test_a_kubeconfig_gives_server_namespace_and_token(tmp_path: Path) -> None:
    connection = await config.from_kubeconfig(kubeconfig(tmp_path, {"token": "secret"}))
    assert connection.server == "https://example.test:6443"
    assert connection.namespace == "team"
    assert await connection.credentials() == {"Authorization": "Bearer secret"}
    assert isinstance(connection.ssl, ssl.SSLContext)
    assert connection.ssl.verify_mode is ssl.CERT_REQUIRED


async def test_a_file_may_have_a_colon_in_its_path(tmp_path: Path) -> None:
    folder = tmp_path / "a: b"
    folder.mkdir()
    connection = await config.from_kubeconfig(kubeconfig(folder, {"token": "secret"}))
    assert connection.namespace == "team"


async def test_another_context_can_be_chosen(tmp_path: Path) -> None:
    connection = await config.from_kubeconfig(kubeconfig(tmp_path, {}), "there")
    assert connection.namespace == "default"
    assert await connection.credentials() == {}


async def test_an_unverified_server_name_and_proxy_are_taken_over(tmp_path: Path) -> None:
    cluster = {"insecure-skip-tls-verify": True, "tls-server-name": "inner", "proxy-url": "http://proxy:1"}
    connection = await config.from_kubeconfig(kubeconfig(tmp_path, {}, cluster))
    assert isinstance(connection.ssl, ssl.SSLContext)
    assert connection.ssl.verify_mode is ssl.CERT_NONE
    assert (connection.server_name, connection.proxy) == ("inner", "http://proxy:1")


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        ({"username": "a", "password": "b"}, "Basic YTpi"),
        (
            {
                "exec": {
                    "apiVersion": "client.authentication.k8s.io/v1",
                    "command": "sh",
                    "args": [
                        "-c",
                        'echo \'{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",'
                        ' "status": {"token": "from-plugin"}}\'',
                    ],
                }
            },
            "Bearer from-plugin",
        ),
    ],
    ids=["password", "exec plugin"],
)
async def test_other_kinds_of_credentials(tmp_path: Path, user: dict[str, object], expected: str) -> None:
    connection = await config.from_kubeconfig(kubeconfig(tmp_path, user))
    assert await connection.credentials() == {"Authorization": expected}


@pytest.mark.parametrize("content", ["", "kind: Config\n", "current-context: x\ncontexts: []\n"])
async def test_an_unusable_kubeconfig_is_named_in_the_error(tmp_path: Path, content: str) -> None:
    path = tmp_path / "config"
    path.write_text(content)
    with pytest.raises(ConfigError, match=str(path)):
        await config.from_kubeconfig(str(path))


def service_account(folder: Path, ca: str) -> Path:
    (folder / "token").write_text("first\n")
    (folder / "ca.crt").write_text(ca)
    (folder / "namespace").write_text("team")
    return folder


@pytest.mark.parametrize(
    ("host", "server"), [("10.0.0.1", "https://10.0.0.1:443"), ("fd00::1", "https://[fd00::1]:443")]
)
async def test_a_pod_uses_its_service_account(tmp_path: Path, ca: str, host: str, server: str) -> None:
    environ = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": "443"}
    connection = config.in_cluster(service_account(tmp_path, ca), environ)
    assert (connection.server, connection.namespace) == (server, "team")
    assert await connection.credentials() == {"Authorization": "Bearer first"}


@pytest.mark.looptime
async def test_a_rotated_token_is_picked_up(tmp_path: Path, ca: str) -> None:
    connection = config.in_cluster(service_account(tmp_path, ca), {"KUBERNETES_SERVICE_HOST": "10.0.0.1"})
    await connection.credentials()
    (tmp_path / "token").write_text("second")
    assert await connection.credentials() == {"Authorization": "Bearer first"}
    await asyncio.sleep(TOKEN_RELOAD)
    assert await connection.credentials() == {"Authorization": "Bearer second"}


def test_outside_of_a_pod_the_error_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="token"):
        config.in_cluster(tmp_path, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"})


@pytest.mark.looptime
async def test_many_requests_at_once_fetch_a_token_once() -> None:
    fetched = 0

    async def fetch() -> Mapping[str, str]:
        nonlocal fetched
        fetched += 1
        await asyncio.sleep(1)
        return {"Authorization": str(fetched)}

    credentials = Reloaded(fetch)
    await asyncio.gather(*(credentials() for _ in range(10)))
    assert fetched == 1


async def test_no_configuration_at_all_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(ConfigError, match="no cluster to talk to"):
        await config.discover()


async def test_the_users_kubeconfig_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'missing'}:{kubeconfig(tmp_path, {'token': 'secret'})}")
    assert (await config.discover()).server == "https://example.test:6443"


def pair() -> tuple[bytes, bytes]:
    """A certificate and its key, as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "somebody")])
    now = datetime.now(UTC)
    certificate = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + timedelta(days=1)).sign(
        key, hashes.SHA256()
    )
    return certificate.public_bytes(serialization.Encoding.PEM), key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


@pytest.fixture
def loaded_pairs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[bytes, bytes]]:
    """What is shown to servers: Python's TLS contexts do not tell."""
    found: list[tuple[bytes, bytes]] = []

    class Watched(ssl.SSLContext):
        def load_cert_chain(self, certfile: Any, keyfile: Any = None, password: Any = None) -> None:
            found.append((Path(certfile).read_bytes(), Path(keyfile).read_bytes()))
            super().load_cert_chain(certfile, keyfile, password)

    monkeypatch.setattr(ssl, "create_default_context", lambda cadata: Watched(ssl.PROTOCOL_TLS_CLIENT))
    return found


async def test_a_certificate_may_stand_in_the_kubeconfig_or_beside_it(
    tmp_path: Path, loaded_pairs: list[tuple[bytes, bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, key = pair()
    (tmp_path / "me.crt").write_bytes(certificate)
    (tmp_path / "me.key").write_bytes(key)
    monkeypatch.chdir("/")
    fields = {"client-certificate-data": b64encode(certificate), "client-key-data": b64encode(key)}
    await config.from_kubeconfig(kubeconfig(tmp_path, {field: data.decode() for field, data in fields.items()}))
    await config.from_kubeconfig(kubeconfig(tmp_path, {"client-certificate": "me.crt", "client-key": "me.key"}))
    assert loaded_pairs == [(certificate, key)] * 2


async def test_no_key_is_left_in_the_temporary_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    certificate, key = pair()
    fields = {"client-certificate-data": b64encode(certificate), "client-key-data": b64encode(key)}
    await config.from_kubeconfig(kubeconfig(tmp_path, {field: data.decode() for field, data in fields.items()}))
    assert not list(scratch.iterdir())


@pytest.mark.looptime
async def test_a_token_file_is_read_again_and_wins_over_a_token(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("first\n")
    connection = await config.from_kubeconfig(kubeconfig(tmp_path, {"tokenFile": "token", "token": "old"}))
    assert await connection.credentials() == {"Authorization": "Bearer first"}
    (tmp_path / "token").write_text("second\n")
    await asyncio.sleep(TOKEN_RELOAD)
    assert await connection.credentials() == {"Authorization": "Bearer second"}


async def test_a_missing_token_file_is_named(tmp_path: Path) -> None:
    connection = await config.from_kubeconfig(kubeconfig(tmp_path, {"tokenFile": "nowhere"}))
    with pytest.raises(ConfigError, match=str(tmp_path / "nowhere")):
        await connection.credentials()


def several(folder: Path, *documents: dict[str, object]) -> str:
    paths = []
    for number, document in enumerate(documents):
        path = folder / f"config-{number}"
        path.write_text(yaml.safe_dump(document))
        paths.append(str(path))
    return ":".join([*paths, str(folder / "missing")])


def named(section: str, name: str, value: dict[str, object]) -> dict[str, object]:
    return {section: [{"name": name, section.rstrip("s"): value}]}


async def test_of_several_files_the_first_to_name_something_wins(tmp_path: Path) -> None:
    paths = several(
        tmp_path,
        named("users", "u", {"token": "first"}),
        {"current-context": "a", **named("contexts", "a", {"cluster": "c", "user": "u"})},
        {"current-context": "b", **named("clusters", "c", {"server": "https://one:1"})},
        {**named("clusters", "c", {"server": "https://two:2"}), **named("users", "u", {"token": "last"})},
    )
    connection = await config.from_kubeconfig(paths)
    assert connection.server == "https://one:1"
    assert await connection.credentials() == {"Authorization": "Bearer first"}


@pytest.mark.parametrize(
    ("user", "cluster", "complaint"),
    [
        ({"as": "somebody"}, {}, "impersonation"),
        ({}, {"server": ""}, "no server"),
        ({"client-certificate": "nowhere.crt"}, {}, "nowhere.crt"),
        ({"client-certificate-data": "%%"}, {}, "base64"),
    ],
    ids=["impersonation", "no server", "missing file", "not base64"],
)
async def test_what_cannot_be_used_is_refused_with_a_reason(
    tmp_path: Path, user: dict[str, object], cluster: dict[str, object], complaint: str
) -> None:
    with pytest.raises(ConfigError, match=complaint):
        await config.from_kubeconfig(kubeconfig(tmp_path, user, cluster))


@pytest.mark.parametrize(
    "content",
    [
        "- a list\n",
        "current-context: a\ncontexts: {a: b}\n",
        "current-context: a\ncontexts: [{name: a, context: text}]\n",
        "current-context: a\ncontexts: [{name: a, context: {cluster: c}}]\n",
        "current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\nclusters: [{name: c}]\n",
        "{ not yaml",
    ],
)
async def test_a_mutilated_kubeconfig_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "config"
    path.write_text(content)
    with pytest.raises(ConfigError, match=str(path)):
        await config.from_kubeconfig(str(path))


def test_fixed_credentials_need_none_of_the_heavy_library(tmp_path: Path) -> None:
    script = (
        "import asyncio, sys; from springtide.kube import config\n"
        f"asyncio.run(config.from_kubeconfig({kubeconfig(tmp_path, {'token': 'secret'})!r}))\n"
        "assert 'kubernetes_asyncio' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=30)
