# SPDX-License-Identifier: Apache-2.0
"""A server in front of an embedded cluster that knows StatefulSets, too, of which there are none.

Arena's program asks for them whenever it shows a job; embedded clusters do not serve kinds on which no controller acts.
"""

from __future__ import annotations

import asyncio
import base64
import http.client
import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Final
from urllib.parse import urlsplit

import yaml

from springtide.kube import config

_NONE: Final = {"apiVersion": "apps/v1", "kind": "StatefulSetList", "metadata": {"resourceVersion": "1"}, "items": []}
_CONNECTION: Final = ("connection", "host", "authorization", "accept-encoding", "transfer-encoding")


@contextmanager
def served(kubeconfig: Path, folder: Path) -> Iterator[Path]:
    """The path of a kubeconfig for the server."""
    connection = asyncio.run(config.from_kubeconfig(str(kubeconfig)))
    assert isinstance(connection.ssl, ssl.SSLContext)
    context: ssl.SSLContext = connection.ssl
    address = urlsplit(connection.server)

    class Between(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_one_request(self) -> None:
            try:
                self.raw_requestline = self.rfile.readline(65537)
                if self.raw_requestline and self.parse_request():
                    self._answer()
                else:
                    self.close_connection = True
            except OSError:  # the client has left
                self.close_connection = True

        def _answer(self) -> None:
            if urlsplit(self.path).path.endswith("/statefulsets"):
                self._send(200, {"Content-Type": "application/json"}, json.dumps(_NONE).encode())
                return
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name: value for name, value in self.headers.items() if name.lower() not in _CONNECTION}
            upstream = http.client.HTTPSConnection(str(address.hostname), address.port, context=context)
            upstream.request(self.command, self.path, body or None, headers)
            found = upstream.getresponse()
            kept = {name: value for name, value in found.getheaders() if name.lower() not in _CONNECTION}
            self._send(found.status, kept, found.read())
            upstream.close()

        def _send(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None: ...

    found = yaml.safe_load(kubeconfig.read_text())
    with ThreadingHTTPServer(("127.0.0.1", 0), Between) as server:
        server.socket = _identified(found, folder).wrap_socket(server.socket, server_side=True)
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        # Arena takes the name of a user from the credentials, so they stay.
        here = {"server": f"https://127.0.0.1:{server.server_port}", "insecure-skip-tls-verify": True}
        found["clusters"] = [{"name": each["name"], "cluster": here} for each in found["clusters"]]
        path = folder / "between.yaml"
        path.write_text(yaml.safe_dump(found))
        yield path
        server.shutdown()
        thread.join()


def _identified(kubeconfig: Any, folder: Path) -> ssl.SSLContext:
    """With a certificate that nobody verifies: the user's own."""
    user = kubeconfig["users"][0]["user"]
    certificate = folder / "between.pem"
    parts = (base64.b64decode(user[field]) for field in ("client-certificate-data", "client-key-data"))
    certificate.write_bytes(b"\n".join(parts))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context
