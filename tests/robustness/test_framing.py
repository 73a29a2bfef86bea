# SPDX-License-Identifier: Apache-2.0
"""Request smuggling: no bytes of one request become another request, here or at a program behind the proxy."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import urlsplit

import pytest
from tests.contract.apiserver.servers import Server
from tests.robustness.asking import ask, send

POD_ADDRESS = "127.9.0.77"
SPACE = "/api/v1/namespaces/robust"
PROXY = f"{SPACE}/pods/behind/proxy"
HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n"


class Program:
    """Listens as a pod's program, keeps what it reads, and answers every connection once."""

    def __init__(self, answer: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") -> None:
        self.seen, self.answer = bytearray(), answer
        self._listener = socket.create_server((POD_ADDRESS, 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(0.3)
                try:
                    while data := connection.recv(65536):
                        self.seen += data
                        if b"\r\n\r\n" in self.seen:
                            connection.sendall(self.answer)
                except OSError:
                    continue

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()


@pytest.fixture
def program(server: Server) -> Iterator[Program]:
    with closing(Program()) as listening:
        spec = {"containers": [{"name": "c", "image": "x"}], "automountServiceAccountToken": False}
        send(server, "POST", f"{SPACE}/pods", {"metadata": {"name": "behind"}, "spec": spec})
        status = {"status": {"phase": "Running", "podIP": POD_ADDRESS, "podIPs": [{"ip": POD_ADDRESS}]}}
        media = {"Content-Type": "application/merge-patch+json"}
        assert send(server, "PATCH", f"{SPACE}/pods/behind/status", status, media).status == 200
        yield listening


def spoken(server: Server, wire: bytes) -> bytes:
    """All that the server says to these bytes before it hangs up or waits for more."""
    address = urlsplit(server.url)
    raw = socket.create_connection((address.hostname or "", address.port or 0), timeout=10)
    with server.context.wrap_socket(raw, server_hostname=address.hostname) as connection:
        connection.sendall(wire)
        connection.settimeout(0.5)
        heard = b""
        try:
            while data := connection.recv(65536):
                heard += data
        except (TimeoutError, ssl.SSLError, ConnectionError):
            pass
        return heard


def post(*lines: bytes, path: str = f"{SPACE}/configmaps?dryRun=All", body: bytes = b"") -> bytes:
    head = b"\r\n".join((f"POST {path} HTTP/1.1".encode(), b"Host: x", b"Content-Type: application/json", *lines))
    return head + b"\r\n\r\n" + body


AMBIGUOUS = {
    "length and chunks": post(b"Content-Length: 4", b"Transfer-Encoding: chunked", body=b"0\r\n\r\n"),
    "chunks and length": post(b"Transfer-Encoding: chunked", b"Content-Length: 4", body=b"0\r\n\r\n"),
    "two lengths": post(b"Content-Length: 0", b"Content-Length: 40"),
    "a list of lengths": post(b"Content-Length: 0, 40"),
    "a length with a sign": post(b"Content-Length: +0"),
    "a folded header": post(b"X: a\r\n Content-Length: 40"),
    "a folded encoding": post(b"Transfer-Encoding:\r\n chunked", body=b"0\r\n\r\n"),
    "a bare line feed": post(b"X: a\nContent-Length: 40"),
    "a bare return": post(b"X: a\rContent-Length: 40"),
    "a space before the colon": post(b"Content-Length : 40"),
    "an unknown encoding": post(b"Transfer-Encoding: xchunked"),
    "two encodings": post(b"Transfer-Encoding: chunked, identity"),
    "a chunk extension": post(b"Transfer-Encoding: chunked", body=b"0;a=b\r\n\r\n"),
    "a chunk size with a sign": post(b"Transfer-Encoding: chunked", body=b"+0\r\n\r\n"),
    "a chunk size of 0x": post(b"Transfer-Encoding: chunked", body=b"0x0\r\n\r\n"),
    "a chunk without its end": post(b"Transfer-Encoding: chunked", body=b"2\r\n{}0\r\n\r\n"),
    "a chunk too large for anybody": post(b"Transfer-Encoding: chunked", body=b"ffffffffffffffff0\r\n\r\n"),
    "a trailer": post(b"Transfer-Encoding: chunked", body=b"0\r\nContent-Length: 40\r\n\r\n"),
    "a null in a name": post(b"Content-Length\x00: 40"),
    "a tunnel": b"CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: x\r\n\r\n",
    "an upgrade with a body": post(b"Connection: Upgrade", b"Upgrade: websocket", b"Content-Length: 5", body=b"hello"),
}


@pytest.mark.parametrize("case", AMBIGUOUS)
def test_a_request_in_doubt_ends_its_connection(server: Server, case: str) -> None:
    heard = spoken(server, AMBIGUOUS[case] + HIDDEN)
    assert heard.count(b"HTTP/1.1 ") == 1, heard
    assert heard.split()[1] in (b"400", b"405", b"501")


@pytest.mark.parametrize("case", AMBIGUOUS)
def test_nor_does_it_reach_a_program_behind_the_proxy(server: Server, program: Program, case: str) -> None:
    path = f"{SPACE}/pods/behind:{program.port}/proxy/x"
    wire = AMBIGUOUS[case].replace(f"{SPACE}/configmaps?dryRun=All".encode(), path.encode())
    spoken(server, wire + HIDDEN)
    assert b"hidden" not in program.seen


def test_what_is_sent_ahead_of_a_refused_upgrade_is_no_request(server: Server) -> None:
    upgrade = b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n"
    wire = f"GET {SPACE}/pods/nobody/exec?command=ls HTTP/1.1\r\nHost: x\r\n".encode() + upgrade + b"\r\n"
    heard = spoken(server, wire + HIDDEN)
    assert heard.count(b"HTTP/1.1 ") == 1
    assert heard.startswith(b"HTTP/1.1 404 ")


@pytest.mark.parametrize(
    "tail",
    ["%0d%0aX-Injected:%20yes", "a%0aX-Injected:%20yes", "x?a=%0d%0aX-Injected:%20yes", "%00", "%ff%fe", "a%20b"],
)
def test_a_path_puts_no_header_into_the_request_to_a_program(server: Server, program: Program, tail: str) -> None:
    answer = ask(server, "GET", f"{SPACE}/pods/behind:{program.port}/proxy/{tail}")
    assert answer.status in (200, 400)
    lines = bytes(program.seen).split(b"\r\n")
    assert not [line for line in lines if line.lower().startswith(b"x-injected")]


def test_headers_of_the_connection_and_of_identity_stay_behind(server: Server, program: Program) -> None:
    headers = {
        "Connection": "X-Hop, keep-alive",
        "X-Hop": "1",
        "Impersonate-User": "system:admin",
        "Impersonate-Group": "system:masters",
        "X-Remote-User": "system:admin",
        "Authorization": "Bearer secret",
        "X-Kept": "1",
    }
    assert ask(server, "GET", f"{SPACE}/pods/behind:{program.port}/proxy/x", headers=headers).status == 200
    sent = bytes(program.seen).lower()
    assert b"x-kept: 1" in sent
    assert not [name for name in (b"x-hop", b"impersonate", b"x-remote", b"secret") if name in sent]


def test_a_header_that_is_no_text_is_refused(server: Server, program: Program) -> None:
    path = f"{SPACE}/pods/behind:{program.port}/proxy/x"
    heard = spoken(server, f"GET {path} HTTP/1.1\r\nHost: x\r\n".encode() + b"X-Odd: \xff\xfe\r\n\r\n")
    assert heard.split()[1] in (b"200", b"400")


HOSTILE = {
    "nothing": b"",
    "garbage": b"\x16\x03\x01\x00\r\n\r\n",
    "an endless head": b"HTTP/1.1 200 OK\r\nX: " + b"x" * (3 << 20),
    "a switch nobody asked for": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    "length and chunks": b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "a reason that is no text": b"HTTP/1.1 200 \xff\xfe\r\nContent-Length: 0\r\n\r\n",
    "a header that is no text": b"HTTP/1.1 200 OK\r\nX: \xff\xfe\r\nContent-Length: 0\r\n\r\n",
    "half a body": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
    "a status of 999": b"HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n",
    "a packed bomb": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08\x00",
    "a refresh of the cookie": b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n",
}


@pytest.mark.parametrize("case", HOSTILE)
def test_no_answer_of_a_program_hurts_the_server(server: Server, program: Program, case: str) -> None:
    program.answer = HOSTILE[case]
    path = f"{SPACE}/pods/behind:{program.port}/proxy/x"
    heard = spoken(server, f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    assert heard == b"" or heard.startswith(b"HTTP/1.1 ")
    assert json.loads(ask(server, "GET", f"{SPACE}/pods/behind").body)["metadata"]["name"] == "behind"
