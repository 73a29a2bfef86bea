# SPDX-License-Identifier: Apache-2.0
"""Connections of a run: mutual authentication, then frames.

    caller ─► opening: its role, its worker, a nonce     (of fixed size, to limit what is read from unknown callers)
    caller ◄─ reply: a nonce, and a proof of the key
    caller ─► a proof of the key
    both   ── frames: a JSON object and bytes

The key is the run's secret; for an agent it is a token that is valid for one connection. Nothing from the other side is
interpreted before it has proved that it has the key. The first message to an agent (the program, its environment, the
run's secret) is sealed: no other process can read or change it. All other frames are plain. Frames are limited in size
and depth. Pure, except for the random nonces and the functions at the end that read and write sockets.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import socket
import struct
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    import asyncio  # not used by agents, and it would be most of what they load

MAGIC: Final = b"tiderun1"
NONCE: Final = 32
PROOF: Final = 32
SECRET: Final = 32
TOKEN: Final = 16
"""Bytes of a token, which is sent as twice as many hexadecimal digits."""
_OPENING: Final = struct.Struct(f"!{len(MAGIC)}scQ{NONCE}s")
_SIZES: Final = struct.Struct("!IQ")
_LONGEST_HEAD: Final = 1 << 24
_LONGEST_PAYLOAD: Final = 1 << 24
_DEEPEST: Final = 32
"""Nesting levels of a head; deeper input would overflow the JSON decoder's stack."""
LARGEST: Final = 1 << 63
OPENING_SIZE: Final = _OPENING.size
REPLY_SIZE: Final = NONCE + PROOF


class Caller(Enum):
    """The role of a caller; part of the proof, so that no proof is valid for another role."""

    AGENT = b"a"
    RANK = b"r"
    PEER = b"p"


class RefusedError(Exception):
    """The other side did not authenticate, or sent invalid data."""


@dataclass(frozen=True, slots=True)
class Opening:
    caller: Caller
    id: int
    """The worker that calls, or whose agent does."""
    nonce: bytes

    def __bytes__(self) -> bytes:
        return _OPENING.pack(MAGIC, self.caller.value, self.id, self.nonce)

    @classmethod
    def new(cls, caller: Caller, id_: int) -> Opening:
        return cls(caller, id_, secrets.token_bytes(NONCE))

    @classmethod
    def read(cls, data: bytes) -> Opening:
        magic, caller, id_, nonce = _OPENING.unpack(data)
        if magic != MAGIC or caller not in {each.value for each in Caller}:
            raise RefusedError("the other side is not part of a run")
        return cls(Caller(caller), id_, nonce)


@dataclass(frozen=True, slots=True)
class Bond:
    """Two nonces and the key that authenticates them."""

    opening: Opening
    answer: bytes
    key: bytes

    def proof(self, side: bytes) -> bytes:
        return hmac.digest(self.key, side + bytes(self.opening) + self.answer, hashlib.sha256)

    @property
    def reply(self) -> bytes:
        return self.answer + self.proof(b"called")

    def seal(self, words: bytes) -> bytes:
        """Encrypts and signs for the other side only. Once per bond, by the called side: the same pad used twice would
        reveal both texts."""
        hidden = self._padded(words)
        return self._mark(hidden) + hidden

    def unseal(self, sealed: bytes) -> bytes:
        """RefusedError if the content was not sealed by the other side."""
        mark, hidden = sealed[:PROOF], sealed[PROOF:]
        if not hmac.compare_digest(self._mark(hidden), mark):
            raise RefusedError("a sealed message was changed on its way")
        return self._padded(hidden)

    def _padded(self, words: bytes) -> bytes:
        seed = hmac.digest(self.key, b"pad" + bytes(self.opening) + self.answer, hashlib.sha256)
        pad = hashlib.shake_256(seed).digest(len(words))
        return (int.from_bytes(words) ^ int.from_bytes(pad)).to_bytes(len(words))

    def _mark(self, hidden: bytes) -> bytes:
        return hmac.digest(self.key, b"mark" + bytes(self.opening) + self.answer + hidden, hashlib.sha256)

    def check(self, side: bytes, proof: bytes) -> None:
        if not hmac.compare_digest(self.proof(side), proof):
            raise RefusedError("the other side does not know the secret of this run")


class Frame(NamedTuple):
    head: Mapping[str, Any]
    payload: bytes | bytearray = b""

    @property
    def type(self) -> str:
        return str(self.head.get("type", ""))


def encode(type_: str, payload: bytes = b"", **head: Any) -> bytes:
    encoded = json.dumps({"type": type_, **head}, separators=(",", ":")).encode()
    return _SIZES.pack(len(encoded), len(payload)) + encoded + payload


def sizes(data: bytes) -> tuple[int, int]:
    head, payload = _SIZES.unpack(data)
    if head > _LONGEST_HEAD:
        raise RefusedError(f"invalid frame: its head has {head} bytes; the other side is not part of a run")
    if payload > _LONGEST_PAYLOAD:
        raise RefusedError(f"invalid frame: its payload has {payload} bytes; the other side is not part of a run")
    return head, payload


def words_of(data: bytes | bytearray) -> dict[str, Any]:
    """A JSON object, or RefusedError."""
    try:
        text = data.decode()
        _check_depth(text)
        words = json.loads(text)
    except ValueError as error:
        raise RefusedError("invalid frame: its head is not a JSON object") from error
    if not isinstance(words, dict):
        raise RefusedError("invalid frame: its head is not a JSON object")
    return words


def _check_depth(text: str) -> None:
    """ValueError for JSON that is nested too deeply."""
    if text.count("[") + text.count("{") <= _DEEPEST:
        return
    depth = 0
    for part in text.replace("\\\\", "").replace('\\"', "").split('"')[::2]:  # odd parts are string contents
        for sign in part:
            if sign in "[{":
                depth += 1
            elif sign in "]}":
                depth -= 1
            if depth > _DEEPEST:
                raise ValueError(f"JSON of more than {_DEEPEST} levels")


def decode(data: bytearray) -> Iterator[Frame]:
    """Removes the complete frames from the received data, and returns them."""
    while len(data) >= _SIZES.size:
        head, payload = sizes(bytes(data[: _SIZES.size]))
        middle, end = _SIZES.size + head, _SIZES.size + head + payload
        if len(data) < end:
            return
        frame = Frame(words_of(data[_SIZES.size : middle]), bytes(data[middle:end]))
        del data[:end]
        yield frame


# Blocking sockets, for agents and ranks.


def call(connection: socket.socket, caller: Caller, id_: int, key: bytes) -> Bond:
    """Authenticate on a new connection. RefusedError, OSError, or EOFError if the other side closes it."""
    opening = Opening.new(caller, id_)
    connection.sendall(bytes(opening))
    reply = receive_exactly(connection, REPLY_SIZE)
    bond = Bond(opening, reply[:NONCE], key)
    bond.check(b"called", reply[NONCE:])
    connection.sendall(bond.proof(b"caller"))
    return bond


def answer(connection: socket.socket, key: bytes, until: float | None = None) -> Opening:
    """The called side, among ranks: the caller must know the run's secret. `until` limits the whole exchange, so that a
    caller that sends a byte now and then does not block forever."""
    opening = Opening.read(receive_exactly(connection, OPENING_SIZE, until))
    bond = Bond(opening, secrets.token_bytes(NONCE), key)
    connection.sendall(bond.reply)
    bond.check(b"caller", receive_exactly(connection, PROOF, until))
    return opening


def receive(connection: socket.socket, until: float | None = None) -> Frame:
    head, payload = sizes(receive_exactly(connection, _SIZES.size, until))
    words = words_of(receive_exactly(connection, head, until))
    body = bytearray(payload)
    _fill(connection, memoryview(body), until)
    return Frame(words, body)


def receive_exactly(connection: socket.socket, size: int, until: float | None = None) -> bytes:
    data = bytearray(size)
    _fill(connection, memoryview(data), until)
    return bytes(data)


def _fill(connection: socket.socket, into: memoryview, until: float | None) -> None:
    while into:
        if until is not None:
            connection.settimeout(max(until - time.monotonic(), 0.001))
        count = connection.recv_into(into)
        if not count:
            raise EOFError("the other side closed the connection")
        into = into[count:]


# Streams, for the launcher.


async def answer_stream(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, key_of: Callable[[Opening], Awaitable[bytes | None]]
) -> Bond:
    """RefusedError for an unknown caller; asyncio.IncompleteReadError if it closes the connection."""
    opening = Opening.read(await reader.readexactly(OPENING_SIZE))
    key = await key_of(opening)
    if key is None:
        raise RefusedError(f"no worker of this number is expected: {opening.id}")
    bond = Bond(opening, secrets.token_bytes(NONCE), key)
    writer.write(bond.reply)
    bond.check(b"caller", await reader.readexactly(PROOF))
    return bond


async def receive_stream(reader: asyncio.StreamReader) -> Frame:
    head, payload = sizes(await reader.readexactly(_SIZES.size))
    words = words_of(await reader.readexactly(head))
    return Frame(words, await reader.readexactly(payload))
