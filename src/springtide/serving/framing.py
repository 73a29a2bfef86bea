# SPDX-License-Identifier: Apache-2.0
"""Finds the end of an HTTP/1.1 request. Pure: bytes in, lengths out.

Two parsers that disagree about the end of a request allow request smuggling. So these rules are stricter than those of
any parser behind: lines end with CR LF, there is one Content-Length or one Transfer-Encoding, chunks have neither
extensions nor trailers. Every parser reads accepted requests in the same way.
"""

from __future__ import annotations

import re
from typing import Final

END: Final = b"\r\n\r\n"
CHUNKED: Final = -1
"""Instead of a length."""

_BARE_LINE_FEED: Final = re.compile(rb"(?<!\r)\n")
_REQUEST_LINE: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) [^\x00-\x20\x7f]+ HTTP/1\.([01])\r\n")
_NOTEWORTHY: Final = re.compile(rb"\r\n(?:[ \t]|content-length|transfer-encoding|upgrade)", re.IGNORECASE)
_NAME: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OTHER_FIELDS: Final = rb"(?:(?!(?i:content-l|tr|up))[!#$%&'*+.^_`|~0-9A-Za-z-]++:[^\r]*+\r\n)*+"
_USUAL: Final = re.compile(
    rb"(?!CONNECT )[A-Z]++ [!-~]++ HTTP/1\.1\r\n"
    + _OTHER_FIELDS
    + rb"(?:Content-Length: ([0-9]{1,15})\r\n"
    + _OTHER_FIELDS
    + rb")?+\r\n"
)
"""A usual head. Nothing in it is matched twice, so a head that does not fit costs no more."""
_USUAL_LENGTH: Final = 8 << 10
_MOST_DIGITS: Final = 15
_CHUNK_LINE: Final = 18
"""Sixteen hexadecimal digits and CR LF."""


class BadRequest(ValueError):
    """The request is rejected and its connection closed, as the start of the next request is unknown."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


def check_partial(head: bytearray, start: int) -> None:
    """Reject a head that cannot become valid any more; `start` is the end of what was checked before."""
    if _BARE_LINE_FEED.search(head, start):
        raise BadRequest("a line of the request's head does not end with CR LF")


def is_whole_request(data: bytes) -> bool:
    """Whether these bytes are exactly one request with a usual head. False leaves it to `inspected`.

    Nearly all requests are like this. `inspected` accepts them too, and takes three times as long.
    """
    head = _USUAL.match(data) if len(data) <= _USUAL_LENGTH else None
    if head is None:
        return False
    end = head.end()
    return end + int(head[1] or 0) == len(data) and data.count(b"\n", 0, end) == data.count(b"\r", 0, end)


def inspected(head: bytes) -> tuple[int, bool]:
    """The length of the body after this complete head, or `CHUNKED`; and whether an upgrade is requested.

    BadRequest if the length is ambiguous. Most heads have no line that matters here, which one search finds out.
    """
    line = _REQUEST_LINE.match(head)
    if line is None:
        raise BadRequest("malformed request line")
    if line[1] == b"CONNECT":
        raise BadRequest("this server is no HTTP proxy", 405)
    lines = head.count(b"\r\n")
    if head.count(b"\n") != lines or head.count(b"\r") != lines:
        raise BadRequest("a line of the request's head does not end with CR LF")
    if not _NOTEWORTHY.search(head):
        return 0, False
    if b"\r\n " in head or b"\r\n\t" in head:
        raise BadRequest("a header is continued on the next line")
    lowered = head.lower()
    return _declared(lowered, old=line[2] == b"0"), b"\r\nupgrade:" in lowered


def _declared(lowered: bytes, *, old: bool) -> int:
    lengths, encodings = [], []
    for line in lowered.removesuffix(END).split(b"\r\n")[1:]:
        name, colon, value = line.partition(b":")
        if not colon or not _NAME.fullmatch(name):
            raise BadRequest("malformed header line")
        if name == b"content-length":
            lengths.append(value.strip(b" \t"))
        elif name == b"transfer-encoding":
            encodings.append(value.strip(b" \t"))
    if len(lengths) + len(encodings) > 1:
        raise BadRequest("more than one header says how long the request's body is")
    if encodings:
        if old or encodings != [b"chunked"]:
            raise BadRequest("unsupported transfer encoding", 501)
        return CHUNKED
    if not lengths:
        return 0
    if not lengths[0].isdigit() or len(lengths[0]) > _MOST_DIGITS:
        raise BadRequest("Content-Length is no number")
    return int(lengths[0])


class Chunks:
    """Finds the end of a chunked body."""

    def __init__(self) -> None:
        self._left = 0  # of the current chunk, with the CR LF after it
        self._line = bytearray()  # the size of the next chunk, as far as received
        self._last = False

    def scan(self, data: bytes | bytearray) -> tuple[int, bool]:
        """How many of these bytes belong to the body, and whether it is complete with them."""
        at = 0
        while at < len(data):
            if self._left > 2:
                step = min(self._left - 2, len(data) - at)
                self._left -= step
                at += step
            elif self._left:
                if data[at] != b"\r\n"[2 - self._left]:
                    raise BadRequest("malformed chunk")
                self._left -= 1
                at += 1
                if self._last and not self._left:
                    return at, True
            else:
                at = self._size(data, at)
        return at, False

    def _size(self, data: bytes | bytearray, at: int) -> int:
        end = data.find(b"\n", at, at + _CHUNK_LINE)
        stop = len(data) if end < 0 else end + 1
        self._line += data[at:stop]
        if len(self._line) > _CHUNK_LINE:
            raise BadRequest("malformed chunk size")
        if end >= 0:
            self._begin(bytes(self._line))
            self._line.clear()
        return stop

    def _begin(self, line: bytes) -> None:
        digits = line.removesuffix(b"\r\n")
        if digits == line or not digits or digits.strip(b"0123456789abcdefABCDEF"):
            raise BadRequest("malformed chunk size")
        size = int(digits, 16)
        self._last = size == 0
        self._left = size + 2
