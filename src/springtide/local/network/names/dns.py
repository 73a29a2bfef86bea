# SPDX-License-Identifier: Apache-2.0
"""DNS messages as bytes: parsing questions, building answers. Pure; RFC 1035 with the size option of RFC 6891.

Names are lower-case text without the last dot. Anything but a valid question raises BadMessage with the code to answer,
or without a code where no answer should be sent. Standard library only.
"""

from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

A, CNAME, SOA, PTR, AAAA, SRV, OPT, ANY = 1, 5, 6, 12, 28, 33, 41, 255
OK, FORMAT_ERROR, SERVER_FAILURE, NO_NAME, NOT_IMPLEMENTED, REFUSED = range(6)
INTERNET = 1
SMALLEST, LARGEST = 512, 65535

_HEADER = struct.Struct("!HHHHHH")
_RECORD = struct.Struct("!HHIH")
_RESPONSE, _AUTHORITATIVE, _TRUNCATED, _RECURSION_WANTED, _RECURSION_THERE = 0x8000, 0x400, 0x200, 0x100, 0x80
_OPCODE = 0x7800
_QUESTION_AT = b"\xc0\x0c"
_MOST_JUMPS = 32


class BadMessage(Exception):
    """`code` is the response code; None means no answer."""

    def __init__(self, why: str, code: int | None = None) -> None:
        super().__init__(why)
        self.code = code


class Question:
    __slots__ = ("identity", "kind", "name", "raw", "recursion", "size")

    def __init__(self, identity: int, name: str, kind: int, recursion: bool, size: int | None, raw: bytes) -> None:
        self.identity, self.name, self.kind = identity, name, kind
        self.recursion = recursion
        self.size = size
        """The longest UDP answer that the client accepts, if stated; the answer then states the server's."""
        self.raw = raw
        """The question's own bytes, repeated in the answer: some clients check the case of the name."""


class Record:
    __slots__ = ("data", "kind", "name", "seconds")

    def __init__(self, name: str, kind: int, seconds: int, data: bytes) -> None:
        self.name, self.kind, self.seconds, self.data = name, kind, seconds, data


def encode_name(name: str) -> bytes:
    if not name:
        return b"\0"
    labels = name.encode().split(b".")
    if any(not 0 < len(label) < 64 for label in labels):
        raise ValueError(f"not a domain name: {name!r}")
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def parse_question(packet: bytes) -> Question:
    if len(packet) < _HEADER.size:
        raise BadMessage("too short")
    identity, flags, questions, answers, authorities, additionals = _HEADER.unpack_from(packet)
    if flags & _RESPONSE:
        raise BadMessage("an answer, not a question")
    if flags & _OPCODE:
        raise BadMessage("not a query", NOT_IMPLEMENTED)
    if questions != 1:
        raise BadMessage("not one question", FORMAT_ERROR)
    try:
        name, end = _name(packet, _HEADER.size)
        kind, kind_class = struct.unpack_from("!HH", packet, end)
        raw = packet[_HEADER.size : end + 4]
        size = _size(packet, end + 4, answers + authorities + additionals)
    except (struct.error, IndexError, UnicodeDecodeError) as problem:
        raise BadMessage(f"cut off: {problem}", FORMAT_ERROR) from None
    if kind_class != INTERNET:
        raise BadMessage("not of the internet class", REFUSED)
    return Question(identity, name, kind, bool(flags & _RECURSION_WANTED), size, raw)


def _name(packet: bytes, at: int) -> tuple[str, int]:
    """A name and the offset behind it; pointers are followed, loops are errors."""
    labels: list[str] = []
    end = jumps = 0
    while length := packet[at]:
        if length & 0xC0 == 0xC0:
            end = end or at + 2
            at = ((length & 0x3F) << 8) | packet[at + 1]
            jumps += 1
            if jumps > _MOST_JUMPS:
                raise IndexError("pointers in a circle")
        elif length & 0xC0:
            raise IndexError("unknown kind of label")
        else:
            label = packet[at + 1 : at + 1 + length]
            labels.append(label.decode("ascii", "backslashreplace").lower())
            at += 1 + length
            if len(labels) > 127 or at >= len(packet):
                raise IndexError("a name without end")
    return ".".join(labels), end or at + 1


def _records(packet: bytes, at: int, count: int) -> list[tuple[Record, int]]:
    """Each record with the offset of its data, because names in the data may point back into the packet."""
    found = []
    for _ in range(count):
        name, at = _name(packet, at)
        kind, kind_class, seconds, length = _RECORD.unpack_from(packet, at)
        at += _RECORD.size
        if at + length > len(packet):
            raise IndexError("a record without end")
        data = packet[at : at + length]
        found.append((Record(name, kind, kind_class if kind == OPT else seconds, data), at))
        at += length
    return found


def _size(packet: bytes, at: int, count: int) -> int | None:
    """The client's buffer size, which the option record holds in place of a class."""
    for record, _ in _records(packet, at, count):
        if record.kind == OPT:
            return max(record.seconds, SMALLEST)
    return None


def answer(
    question: Question,
    code: int,
    records: Sequence[Record] = (),
    authorities: Sequence[Record] = (),
    *,
    limit: int = LARGEST,
    own: bool = True,
) -> bytes:
    """`own`: the answer is authoritative. Over the limit, only the question and the truncation flag remain."""
    flags = _RESPONSE | _RECURSION_THERE | code
    flags |= _AUTHORITATIVE if own else 0
    flags |= _RECURSION_WANTED if question.recursion else 0
    option = b"\0" + _RECORD.pack(OPT, 1232, 0, 0) if question.size is not None else b""
    sections = [b"".join(_encoded(record, question.name) for record in part) for part in (records, authorities)]
    counts = len(records), len(authorities)
    if _HEADER.size + len(question.raw) + sum(map(len, sections)) + len(option) > limit:
        flags, sections, counts = flags | _TRUNCATED, [], (0, 0)
    head = _HEADER.pack(question.identity, flags, 1, *counts, 1 if option else 0)
    return b"".join((head, question.raw, *sections, option))


def failure(packet: bytes, code: int) -> bytes:
    """The answer to a packet of which only the identifier could be read."""
    (identity,) = struct.unpack_from("!H", packet)
    return _HEADER.pack(identity, _RESPONSE | code, 0, 0, 0, 0)


def _encoded(record: Record, asked: str) -> bytes:
    name = _QUESTION_AT if record.name == asked else encode_name(record.name)
    return name + _RECORD.pack(record.kind, INTERNET, record.seconds, len(record.data)) + record.data


def query(identity: int, name: str, kind: int) -> bytes:
    """A question for an upstream resolver."""
    option = b"\0" + _RECORD.pack(OPT, 1232, 0, 0)
    head = _HEADER.pack(identity, _RECURSION_WANTED, 1, 0, 0, 1)
    return head + encode_name(name) + struct.pack("!HH", kind, INTERNET) + option


def parse_answer(packet: bytes) -> tuple[int, list[Record]]:
    """Code and answers; names inside the data are decompressed, so that the records fit into another packet."""
    try:
        _, flags, questions, answers, _, _ = _HEADER.unpack_from(packet)
        at = _HEADER.size
        for _ in range(questions):
            at = _name(packet, at)[1] + 4
        found = _records(packet, at, answers)
        for record, start in found:
            if record.kind == CNAME:
                record.data = encode_name(_name(packet, start)[0])
    except (struct.error, IndexError, ValueError) as problem:
        raise BadMessage(f"cut off: {problem}") from None
    return flags & 0xF, [record for record, _ in found]
