# SPDX-License-Identifier: Apache-2.0
"""What a launcher writes on its own pod, to a server that asks for its token."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.integration.patience import until

from springtide.elastic.launcher import progress
from springtide.elastic.launcher.progress import ANNOTATION, AnnotationWriter, Answer, Pod


class Server(HTTPServer):
    status = 200

    def __init__(self, account: Path) -> None:
        self.heard: list[tuple[str, str, str, object]] = []
        super().__init__(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(account / "ca.crt", account / "key")
        self.socket = context.wrap_socket(self.socket, server_side=True)


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_PATCH(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        words = (self.path, self.headers["Authorization"], self.headers["Content-Type"])
        self.server.heard.append((*words, body))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "api")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    (tmp_path / "ca.crt").write_bytes(certificate.public_bytes(encoding))
    plain = serialization.NoEncryption()
    (tmp_path / "key").write_bytes(key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, plain))
    (tmp_path / "token").write_text("my-token\n")
    (tmp_path / "namespace").write_text("team")
    with Server(tmp_path) as found:
        thread = threading.Thread(target=found.serve_forever)
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def pod(server: Server, account: Path) -> Pod:
    port = str(server.server_address[1])
    environment = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": port, "HOSTNAME": "launcher"}
    found = Pod.found(environment, account)
    assert found is not None
    return found


async def test_it_is_merged_into_its_own_pod(server: Server, tmp_path: Path) -> None:
    notice = AnnotationWriter(pod(server, tmp_path))
    task = asyncio.create_task(notice.run())
    notice.put('{"size":2}')
    await until(lambda: asyncio.sleep(0, server.heard), bool, 30)
    task.cancel()
    (heard,) = server.heard
    patch = {"metadata": {"annotations": {ANNOTATION: '{"size":2}'}}}
    kind = "application/merge-patch+json"
    assert heard == ("/api/v1/namespaces/team/pods/launcher", "Bearer my-token", kind, patch)


async def test_a_token_that_may_not_is_not_tried_again(server: Server, tmp_path: Path) -> None:
    server.status = 403
    notice = AnnotationWriter(pod(server, tmp_path))
    notice.put("{}")
    await asyncio.wait_for(notice.run(), 30)
    assert len(server.heard) == 1


def test_a_server_that_is_away_may_come_back(server: Server, tmp_path: Path) -> None:
    found = pod(server, tmp_path)
    server.status = 503
    assert found.annotate("{}") is Answer.AWAY
    assert Pod("127.0.0.1", 1, "team", "launcher", tmp_path).annotate("{}") is Answer.AWAY


async def test_a_token_that_is_not_known_is_tried_a_few_times(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_AGAIN", 0.01)
    server.status = 401
    notice = AnnotationWriter(pod(server, tmp_path))
    notice.put("{}")
    await asyncio.wait_for(notice.run(), 30)
    assert len(server.heard) == 5


async def test_the_last_value_is_waited_for(server: Server, tmp_path: Path) -> None:
    notice = AnnotationWriter(pod(server, tmp_path))
    task = asyncio.create_task(notice.run())
    for number in range(3):
        notice.put(str(number))
        await asyncio.sleep(0)
    await notice.last(30)
    task.cancel()
    assert server.heard[-1][3] == {"metadata": {"annotations": {ANNOTATION: "2"}}}


async def test_a_server_that_is_away_is_not_waited_for_at_the_end(tmp_path: Path) -> None:
    notice = AnnotationWriter(Pod("127.0.0.1", 1, "team", "launcher", tmp_path))
    task = asyncio.create_task(notice.run())
    notice.put("{}")
    await notice.last(0.1)
    task.cancel()
    await AnnotationWriter(None).last(30)
