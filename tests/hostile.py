# SPDX-License-Identifier: Apache-2.0
"""What a hostile client may send to any socket that reads JSON: one table for all endpoints.

LINES                      whole lines that are no message
malformed(request)         a good request, with each field missing or of a wrong type in turn
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

DEEP = 50_000
LINES: dict[str, bytes] = {
    "brackets": b"[" * DEEP,
    "closed brackets": b"[" * DEEP + b"]" * DEEP,
    "objects": b'{"do":' * DEEP + b"1" + b"}" * DEEP,
    "deep in a field": b'{"do":' + b"[" * DEEP + b"]" * DEEP + b"}",
    "deep as a ticket": b'{"ticket":' + b"[" * DEEP + b"]" * DEEP + b"}",
    "a hundred levels": b'{"do":' + b"[" * 100 + b"]" * 100 + b"}",
    "deep behind a quote": b'{"do":"\\\\",' + b'"x":{' * DEEP,
    "no JSON": b"GET / HTTP/1.1",
    "nothing": b"",
    "no UTF-8": b'{"do":"\xff\xfe"}',
    "half a surrogate": b'{"do":"\\ud800"}',
    "NUL": b"\0" * 1000,
    "a list": b"[]",
    "a string": b'"x"',
    "a number": b"1",
    "null": b"null",
    "NaN": b'{"do":NaN,"ticket":NaN}',
    "infinity": b'{"do":-Infinity,"ticket":1e999}',
    "a number of 5,000 digits": b'{"do":' + b"9" * 5000 + b"}",
    "a name of 900,000 characters": b'{"do":"' + b"x" * 900_000 + b'"}',
    "a cut message": b'{"do":"states"',
}
WRONG: tuple[Any, ...] = (
    None,
    True,
    -1,
    10**30,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "x" * 5000,
    "a/../b",
    [],
    [[]],
    {},
)


def malformed(request: Mapping[str, Any]) -> Iterator[bytes]:
    for name in request:
        yield json.dumps({field: value for field, value in request.items() if field != name}).encode()
        for value in WRONG:
            yield json.dumps({**request, name: value}).encode()


def sent(connection: socket.socket, data: bytes, patience: float = 20.0) -> bytes:
    """The answer to what may be refused before all of it was sent; empty when the other side just hangs up."""
    connection.settimeout(patience)
    with suppress(OSError):
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
    answer = b""
    with suppress(OSError):
        while piece := connection.recv(1 << 16):
            answer += piece
    return answer
