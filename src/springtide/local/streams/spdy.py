# SPDX-License-Identifier: Apache-2.0
"""SPDY/3.1 frames, in and out, without I/O.

kubectl multiplexes exec, attach and port-forward over SPDY, directly or inside a WebSocket. This is the framing for
both server and client: `Framer.receive` turns bytes into frames, and its other methods turn frames into bytes. Header
blocks are one zlib stream per direction, so a `Framer` belongs to one connection and frames must be sent in the order
of their creation.

Flow control is the transport's. The peers (moby/spdystream in kubectl, kubelet and KWOK) neither send WINDOW_UPDATE nor
obey it; they stop reading the connection instead, and so does `session.py`. SETTINGS and WINDOW_UPDATE are parsed and
ignored.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

VERSION: Final = 3
FIN: Final = 0x01
MAX_CONTROL: Final = 64 << 10  # a compressed header block; exec's streams need a hundred bytes
MAX_HEADERS: Final = 16 << 10  # the decompressed block; every open stream keeps its own

SYN_STREAM, SYN_REPLY, RST_STREAM, SETTINGS, PING, GOAWAY, HEADERS, WINDOW_UPDATE = 1, 2, 3, 4, 6, 7, 8, 9
PROTOCOL_ERROR, INVALID_STREAM, REFUSED_STREAM, CANCEL = 1, 2, 3, 5

_WORDS: Final = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow "
    "authorization cache-control connection content-base content-encoding content-language content-length "
    "content-location content-md5 content-range content-type date etag expect expires from host if-match "
    "if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma "
    "proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade "
    "user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url public set-cookie "
    "keep-alive origin"
)
_TAIL: Final = (
    b"100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    b"203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized"
    b"403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable"
    b"Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT"
    b"chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,"
    b"text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)


def _dictionary() -> bytes:
    """The text that both sides preload into zlib (SPDY/3, section 2.6.10.1): length-prefixed words, then phrases."""
    words = (word.replace("_", " ").encode() for word in _WORDS.split())
    return b"".join(struct.pack(">I", len(word)) + word for word in words) + _TAIL


DICTIONARY: Final = _dictionary()


class SpdyError(ValueError):
    """The peer does not speak SPDY/3.1; the connection must be closed."""


@dataclass(frozen=True, slots=True)
class Syn:
    """The peer opens a stream."""

    stream: int
    headers: Mapping[str, str]
    fin: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """The peer accepts a stream that we opened."""

    stream: int
    headers: Mapping[str, str]
    fin: bool = False


@dataclass(frozen=True, slots=True)
class MoreHeaders:
    stream: int
    headers: Mapping[str, str]
    fin: bool = False


@dataclass(frozen=True, slots=True)
class Data:
    """Some bytes of a stream: a long frame is split, and only its last part may carry `fin`."""

    stream: int
    data: bytes
    fin: bool = False


@dataclass(frozen=True, slots=True)
class Reset:
    stream: int
    status: int


@dataclass(frozen=True, slots=True)
class Ping:
    id: int


@dataclass(frozen=True, slots=True)
class GoAway:
    last_stream: int
    status: int


@dataclass(frozen=True, slots=True)
class Settings:
    values: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class WindowUpdate:
    stream: int
    delta: int


Frame: TypeAlias = Syn | Reply | MoreHeaders | Data | Reset | Ping | GoAway | Settings | WindowUpdate


class Framer:
    """The frames of one connection in both directions."""

    def __init__(self) -> None:
        self._pack = zlib.compressobj(9, zdict=DICTIONARY)
        self._unpack = zlib.decompressobj(zdict=DICTIONARY)
        self._buffer = bytearray()
        self._data_left = 0  # of a data frame whose header was read
        self._data_stream = 0
        self._data_fin = False

    def receive(self, data: bytes) -> list[Frame]:
        """The frames that are complete with these bytes. SpdyError ends the connection."""
        self._buffer += data
        frames: list[Frame] = []
        while True:
            if self._data_left:
                piece = self._data_piece()
                if piece is None:
                    return frames
                frames.append(piece)
            elif len(self._buffer) < 8:
                return frames
            elif self._buffer[0] & 0x80:
                length = int.from_bytes(self._buffer[5:8], "big")
                if length > MAX_CONTROL:
                    raise SpdyError(f"control frame of {length} bytes is too long")
                if len(self._buffer) < 8 + length:
                    return frames
                frames += self._control(length)
            else:
                frames += self._data_header()

    def _data_header(self) -> list[Frame]:
        stream, flags_and_length = struct.unpack_from(">II", self._buffer)
        del self._buffer[:8]
        fin, length = bool(flags_and_length >> 24 & FIN), flags_and_length & 0xFFFFFF
        if stream == 0:
            raise SpdyError("data frame without a stream")
        if length == 0:
            return [Data(stream, b"", fin)]
        self._data_stream, self._data_left, self._data_fin = stream, length, fin
        return []

    def _data_piece(self) -> Data | None:
        if not self._buffer:
            return None
        piece = bytes(self._buffer[: self._data_left])
        del self._buffer[: len(piece)]
        self._data_left -= len(piece)
        return Data(self._data_stream, piece, self._data_fin and not self._data_left)

    def _control(self, length: int) -> list[Frame]:
        version, kind = int.from_bytes(self._buffer[:2], "big") & 0x7FFF, int.from_bytes(self._buffer[2:4], "big")
        fin, payload = bool(self._buffer[4] & FIN), bytes(self._buffer[8 : 8 + length])
        del self._buffer[: 8 + length]
        if version != VERSION:
            raise SpdyError(f"SPDY version {version} is not supported")
        try:
            return self._parsed(kind, fin, payload)
        except struct.error:
            raise SpdyError(f"control frame of type {kind} is too short") from None

    def _parsed(self, kind: int, fin: bool, payload: bytes) -> list[Frame]:
        if kind == SYN_STREAM:
            (stream,) = struct.unpack_from(">I4xBB", payload)[:1]
            return [Syn(_stream_id(stream), self._headers(payload[10:]), fin)]
        if kind in (SYN_REPLY, HEADERS):
            (stream,) = struct.unpack_from(">I", payload)
            made = Reply if kind == SYN_REPLY else MoreHeaders
            return [made(_stream_id(stream), self._headers(payload[4:]), fin)]
        if kind == PING:
            return [Ping(struct.unpack(">I", payload)[0])]
        if kind == SETTINGS:
            return [Settings(_settings(payload))]
        return _pair(kind, payload)

    def _headers(self, block: bytes) -> dict[str, str]:
        try:
            plain = self._unpack.decompress(block, MAX_HEADERS)
        except zlib.error as problem:
            raise SpdyError(f"headers cannot be unpacked: {problem}") from None
        if self._unpack.unconsumed_tail:
            raise SpdyError("headers are too long")
        return _parse_headers(plain)

    def _packed(self, headers: Mapping[str, str]) -> bytes:
        plain = bytearray(struct.pack(">I", len(headers)))
        for name, value in headers.items():
            for text in (name.lower().encode(), value.encode()):
                plain += struct.pack(">I", len(text)) + text
        return self._pack.compress(bytes(plain)) + self._pack.flush(zlib.Z_SYNC_FLUSH)

    def syn(self, stream: int, headers: Mapping[str, str]) -> bytes:
        return _frame(SYN_STREAM, struct.pack(">IIBB", stream, 0, 0, 0) + self._packed(headers))

    def reply(self, stream: int, headers: Mapping[str, str]) -> bytes:
        return _frame(SYN_REPLY, struct.pack(">I", stream) + self._packed(headers))


def data(stream: int, content: bytes, fin: bool = False) -> bytes:
    return struct.pack(">II", stream, (FIN if fin else 0) << 24 | len(content)) + content


def reset(stream: int, status: int = CANCEL) -> bytes:
    return _frame(RST_STREAM, struct.pack(">II", stream, status))


def ping(id_: int) -> bytes:
    return _frame(PING, struct.pack(">I", id_))


def go_away(last_stream: int) -> bytes:
    return _frame(GOAWAY, struct.pack(">II", last_stream, 0))


def _frame(kind: int, payload: bytes) -> bytes:
    return struct.pack(">HHI", 0x8000 | VERSION, kind, len(payload)) + payload


def _pair(kind: int, payload: bytes) -> list[Frame]:
    """Parse a frame of two numbers."""
    if kind not in (RST_STREAM, GOAWAY, WINDOW_UPDATE):
        return []  # a type of a later draft, which the specification says to ignore
    first, second = struct.unpack(">II", payload)
    first &= 0x7FFFFFFF
    if kind == RST_STREAM:
        return [Reset(first, second)]
    return [GoAway(first, second) if kind == GOAWAY else WindowUpdate(first, second)]


def _stream_id(value: int) -> int:
    stream = value & 0x7FFFFFFF
    if stream == 0:
        raise SpdyError("stream id zero is not allowed")
    return stream


def _settings(payload: bytes) -> dict[int, int]:
    (count,) = struct.unpack_from(">I", payload)
    if len(payload) != 4 + 8 * count:
        raise SpdyError("settings frame of wrong length")
    entries = struct.unpack_from(f">{2 * count}I", payload, 4)
    return {key & 0xFFFFFF: value for key, value in zip(entries[::2], entries[1::2], strict=True)}


def _parse_headers(plain: bytes) -> dict[str, str]:
    (count,), at = struct.unpack_from(">I", plain), 4
    if count > 1000:
        raise SpdyError("too many headers")
    texts = []
    for _ in range(2 * count):
        (length,) = struct.unpack_from(">I", plain, at)
        texts.append(plain[at + 4 : at + 4 + length])
        if len(texts[-1]) != length:
            raise SpdyError("headers are cut off")
        at += 4 + length
    try:
        decoded = [text.decode() for text in texts]
    except UnicodeDecodeError:
        raise SpdyError("a header is not valid UTF-8") from None
    return dict(zip(decoded[::2], decoded[1::2], strict=True))
