# SPDX-License-Identifier: Apache-2.0
"""Lines and paths of control sockets; `tests/unit/local/runtime/test_shim_parts.py` has more of both."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from springtide.local.control_sockets import Lines, at_directory


def test_lines_are_put_together_from_pieces() -> None:
    lines = Lines(8)
    assert lines.feed(b"one\ntw") == [b"one"]
    assert lines.feed(b"o\n\nthree") == [b"two", b""]


@pytest.mark.parametrize("data", [b"x" * 9, b"x" * 9 + b"\n", b"a\n" + b"x" * 9])
def test_a_line_has_a_greatest_length(data: bytes) -> None:
    with pytest.raises(ValueError, match="more than 8 bytes"):
        Lines(8).feed(data)


def test_a_socket_is_bound_at_a_path_of_any_length(tmp_path: Path) -> None:
    folder = tmp_path / ("d" * 120)
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as bound:
        at_directory(str(folder / "s"), bound.bind)
    assert (folder / "s").is_socket()
