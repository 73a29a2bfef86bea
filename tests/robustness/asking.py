# SPDX-License-Identifier: Apache-2.0
"""Plain HTTP to the server under test, and what every refusal of it must look like."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.contract.apiserver.servers import Server

JSON = "application/json"


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes

    @property
    def message(self) -> str:
        return str(json.loads(self.body).get("message", ""))


def ask(
    server: Server, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
) -> Answer:
    """One request on a connection of its own; TimeoutError when the server hangs."""
    connection = server.connection()
    try:
        connection.request(method, path, body, {**server.headers, "Content-Type": JSON, **(headers or {})})
        answer = connection.getresponse()
        return Answer(answer.status, answer.read())
    finally:
        connection.close()


def send(server: Server, method: str, path: str, obj: Any, headers: Mapping[str, str] | None = None) -> Answer:
    return ask(server, method, path, json.dumps(obj).encode(), headers)


def assert_refused(answer: Answer, *codes: int) -> None:
    """A Kubernetes `Status` with one of these codes (any of the 4xx when none is given)."""
    assert answer.status in (codes or range(400, 500)), answer.body[:500]
    status = json.loads(answer.body)
    assert (status["kind"], status["apiVersion"], status["status"]) == ("Status", "v1", "Failure")
    assert status["code"] == answer.status
    assert status["message"]


def assert_sane(answer: Answer) -> None:
    """Done, or refused as Kubernetes refuses; never the server's own failure."""
    if answer.status >= 400:
        assert_refused(answer)
    else:
        json.loads(answer.body)
