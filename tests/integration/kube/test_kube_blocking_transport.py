# SPDX-License-Identifier: Apache-2.0
"""The transport of short programs, against a small server of its own: one request at a time on a kept connection."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import repeat
from typing import Any

import pytest

from springtide.kube import blocking_transport, errors
from springtide.kube.blocking_transport import BlockingTransport, suits
from springtide.kube.config import Connection, bearer
from springtide.kube.request import Request, Response

_PATIENCE = 20.0


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        self.server.seen.append((self.command, self.path, self.client_address[1]))  # type: ignore[attr-defined]
        if self.path == "/silence":
            self.server.ending.wait()  # type: ignore[attr-defined]
            self.close_connection = True
            return
        if self.path == "/gone":
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        if self.path in ("/endless", "/drops", "/half"):
            self._part()
            return
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        said = f"{self.headers['Authorization']} {self.headers['Content-Type']} ".encode() + body
        self.send_response(201)
        self.send_header("Content-Length", str(len(said)))
        self.send_header("Retry-After", "7")
        self.end_headers()
        self.wfile.write(said)
        if self.path == "/last":  # said to be kept, and closed
            self.close_connection = True

    def _part(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(1 << 40))
        self.end_headers()
        self.close_connection = True
        pieces = {"/endless": repeat(b" " * (1 << 20)), "/drops": repeat(b" "), "/half": [b"half"]}[self.path]
        with suppress(OSError):
            for piece in pieces:
                self.wfile.write(piece)
                if len(piece) == 1 and self.server.ending.wait(0.01):  # type: ignore[attr-defined]
                    return

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _answer

    def log_message(self, *_: Any) -> None: ...


class _Service(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.seen: list[tuple[str, str, int]] = []
        self.ending = threading.Event()
        self.closed = threading.Event()
        """A connection has been closed."""

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        self.closed.set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@pytest.fixture
def service() -> Iterator[_Service]:
    with _Service() as service:
        threading.Thread(target=service.serve_forever, args=(0.01,), daemon=True).start()
        yield service
        service.ending.set()
        service.shutdown()


async def sent(service: _Service, *requests: Request) -> list[Response]:
    transport = BlockingTransport(Connection(service.url, credentials=bearer("secret")))
    try:
        return [await transport.send(request) for request in requests]
    finally:
        await transport.close()


def test_a_request_arrives_as_it_was_written(service: _Service) -> None:
    request = Request("PATCH", "/a%20b:c", {"labelSelector": "a in (b)"}, {"Content-Type": "text/x"}, b'{"a":1}')
    (response,) = asyncio.run(sent(service, request))
    assert (response.status, response.headers["retry-after"]) == (201, "7")
    assert response.body == b'Bearer secret text/x {"a":1}'
    assert service.seen[0][:2] == ("PATCH", "/a%20b:c?labelSelector=a+in+%28b%29")


def test_a_connection_is_used_again(service: _Service) -> None:
    asyncio.run(sent(service, Request("GET", "/a"), Request("POST", "/b", body=b"x"), Request("GET", "/c")))
    assert len({port for _, _, port in service.seen}) == 1


def test_after_a_connection_was_closed_meanwhile_a_reading_request_is_sent_on_a_new_one(service: _Service) -> None:
    asyncio.run(sent(service, Request("GET", "/last"), Request("GET", "/again")))
    assert [path for _, path, _ in service.seen] == ["/last", "/again"]


@pytest.mark.parametrize("method", ["PUT", "PATCH", "POST", "DELETE"])
def test_a_writing_request_is_sent_once_whatever_becomes_of_its_connection(service: _Service, method: str) -> None:
    with pytest.raises(errors.Unreachable, match=f"{method} .*/gone"):
        asyncio.run(sent(service, Request("GET", "/first"), Request(method, "/gone")))
    assert [path for _, path, _ in service.seen] == ["/first", "/gone"]


def test_silence_beyond_the_timeout_is_unreachable(service: _Service) -> None:
    with pytest.raises(errors.Unreachable, match=r"GET .*/silence: timed out"):
        asyncio.run(sent(service, Request("GET", "/first"), Request("GET", "/silence", timeout=0.05)))


def test_a_server_that_is_not_there_is_unreachable() -> None:
    transport = BlockingTransport(Connection("http://127.0.0.1:1"))
    with pytest.raises(errors.Unreachable, match=r"GET http://127\.0\.0\.1:1/healthz"):
        asyncio.run(transport.send(Request("GET", "/healthz")))


def test_a_proxy_is_for_the_other_transport() -> None:
    assert suits(Connection("https://a"))
    assert not suits(Connection("https://a", proxy="http://b"))


@pytest.mark.parametrize("method", ["PUT", "PATCH", "POST", "DELETE"])
def test_a_writing_request_after_a_pause_is_sent_on_a_new_connection(service: _Service, method: str) -> None:
    """As after a question that the user answers later than the server waits."""

    async def talked() -> None:
        transport = BlockingTransport(Connection(service.url, credentials=bearer("secret")))
        await transport.send(Request("GET", "/last"))
        assert service.closed.wait(_PATIENCE)
        await transport.send(Request(method, "/write"))
        await transport.close()

    asyncio.run(talked())
    assert [path for _, path, _ in service.seen] == ["/last", "/write"]


def test_an_answer_that_never_ends_is_cut_off(service: _Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocking_transport, "LARGEST", 4 << 20)
    with pytest.raises(errors.Unreachable, match="more than 4 MiB"):
        asyncio.run(sent(service, Request("GET", "/endless")))


def test_a_byte_now_and_then_does_not_hold_up_the_timeout(service: _Service) -> None:
    with pytest.raises(errors.Unreachable, match="timed out"):
        asyncio.run(sent(service, Request("GET", "/drops", timeout=0.2)))


def test_half_an_answer_is_none(service: _Service) -> None:
    with pytest.raises(errors.Unreachable, match="IncompleteRead"):
        asyncio.run(sent(service, Request("GET", "/half")))
