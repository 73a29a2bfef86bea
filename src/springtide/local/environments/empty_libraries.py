# SPDX-License-Identifier: Apache-2.0
"""Empty libraries in place of missing ones that a package is linked with but never calls.

PyTorch's wheel on the ordinary package index is the one for GPUs. The libraries for GPUs that it requires are 2.4 GB to
fetch. On a machine where it computes on CPUs it calls none of them, but the dynamic loader does not load it unless all
of them, and all of their functions that it is linked with, exist. So the missing ones are written here:

    libcublas.so.13, libcudnn.so.9, ...     empty; each needs libabsent.so
    libabsent.so                            every function returns 1, which is an error to every caller

The functions are in a library of another name because the loader checks symbol versions in a library of the expected
name. Which libraries and functions are missing is what `ldd` reports.
"""

from __future__ import annotations

import platform
import re
import shutil
import struct
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

FUNCTIONS: Final = "libabsent.so"
_MACHINES: Final = {"x86_64": (62, bytes.fromhex("b801000000c3")), "aarch64": (183, bytes.fromhex("20008052c0035fd6"))}
"""ELF's number of an architecture, and the code of a function that returns 1 on it."""
_PAGE: Final = 0x10000
"""The largest size of a page on these architectures."""
_SYMBOL, _ENTRY = struct.Struct("<IBBHQQ"), struct.Struct("<qQ")
_HEADER, _SEGMENT = struct.Struct("<16sHHIQQQIHHHHHH"), struct.Struct("<IIQQQQQQ")
_NEEDED, _HASH, _STRTAB, _SYMTAB, _STRSZ, _SYMENT, _SONAME, _RUNPATH = 1, 4, 5, 6, 10, 11, 14, 29


def supply(libraries: Sequence[Path]) -> list[str]:
    """Write beside these libraries what they lack. Returns what is missing even so: all of it on an architecture that
    is not known here."""
    missing = _missing(libraries)
    machine = platform.machine()
    if not missing or machine not in _MACHINES:
        return missing
    folder = libraries[0].parent
    (folder / FUNCTIONS).write_bytes(library(machine, FUNCTIONS))
    for name in missing:
        (folder / name).write_bytes(library(machine, name, needed=FUNCTIONS))
    (folder / FUNCTIONS).write_bytes(library(machine, FUNCTIONS, _undefined(libraries)))
    return [*_missing(libraries), *_undefined(libraries)]


def _missing(libraries: Iterable[Path]) -> list[str]:
    return sorted(set(re.findall(r"^\s*(\S+) => not found$", _ldd(*libraries), re.MULTILINE)))


def _undefined(libraries: Iterable[Path]) -> list[str]:
    """Functions that no library has, except Python's own, which the interpreter has."""
    return sorted(set(re.findall(r"^undefined symbol: (?!_*Py)(\w+)", _ldd("-r", *libraries), re.MULTILINE)))


def _ldd(*words: str | Path) -> str:
    if shutil.which("ldd") is None:  # a system whose wheels are not linked like this
        return ""
    answer = subprocess.run(["ldd", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return answer.stdout


def library(machine: str, name: str, functions: Iterable[str] = (), needed: str = "") -> bytes:
    """A shared library (ELF, 64 bits) with functions that return 1, which may need another one of its folder."""
    number, code = _MACHINES[machine]
    strings = _Strings()
    names = [strings.add(function) for function in functions]
    values = [(_SONAME, strings.add(name)), *([(_NEEDED, strings.add(needed))] if needed else [])]
    values.append((_RUNPATH, strings.add("$ORIGIN")))

    count, start = len(names) + 1, _HEADER.size + 4 * _SEGMENT.size
    # One bucket with a chain of all symbols: slow to search, but these are a few hundred and never called.
    table = struct.pack(f"<{3 + count}I", 1, count, count - 1, *([0, *range(count - 1)]))
    symbols = start + len(table) + -len(table) % 8
    text = symbols + count * _SYMBOL.size
    entries = b"".join(_SYMBOL.pack(each, 0x12, 0, 1, text, len(code)) for each in names)
    content = table.ljust(symbols - start, b"\0") + bytes(_SYMBOL.size) + entries + code + strings.content
    end = start + len(content)
    dynamic = (end + 7) // 8 * 8

    where = text + len(code)
    values += [(_HASH, start), (_STRTAB, where), (_SYMTAB, symbols), (_STRSZ, len(strings.content))]
    values += [(_SYMENT, _SYMBOL.size), (0, 0)]
    tail = b"".join(_ENTRY.pack(*value) for value in values)
    header = _HEADER.pack(b"\x7fELF\2\1\1", 3, number, 1, 0, 64, 0, 0, 64, _SEGMENT.size, 4, 0, 0, 0)
    # The loader writes into the dynamic section, so that section is on a page of its own in memory.
    at, size = dynamic + _PAGE, len(tail)
    segments = [
        (1, 5, 0, 0, 0, end, end, _PAGE),
        (1, 6, dynamic, at, at, size, size, _PAGE),
        (2, 6, dynamic, at, at, size, size, 8),
        (0x6474E551, 6, 0, 0, 0, 0, 0, 16),  # the stack is not executable
    ]
    return (header + b"".join(_SEGMENT.pack(*each) for each in segments) + content).ljust(dynamic, b"\0") + tail


class _Strings:
    """A string table."""

    def __init__(self) -> None:
        self.content = b"\0"

    def add(self, text: str) -> int:
        offset = len(self.content)
        self.content += text.encode() + b"\0"
        return offset
