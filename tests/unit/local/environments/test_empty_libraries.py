# SPDX-License-Identifier: Apache-2.0
"""Libraries written in place of missing ones load, and their functions return an error.

PyTorch with them is in tests/e2e_elastic.
"""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from springtide.local.environments import empty_libraries

MACHINE = platform.machine()
pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or MACHINE not in ("x86_64", "aarch64"), reason="libraries of other systems are not written"
)


def loaded(library: Path, *functions: str) -> list[int]:
    """What functions return in a process of its own."""
    code = "import ctypes, sys; library = ctypes.CDLL(sys.argv[1]); print(*(library[name]() for name in sys.argv[2:]))"
    command = [sys.executable, "-c", code, str(library), *functions]
    return [int(word) for word in subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()]


def write(folder: Path, name: str, *functions: str, needed: str = "") -> Path:
    path = folder / name
    path.write_bytes(empty_libraries.library(MACHINE, name, functions, needed))
    return path


def test_every_function_returns_an_error(tmp_path: Path) -> None:
    names = [f"function_{number}" for number in range(200)]
    assert loaded(write(tmp_path, "libmany.so", *names), *names) == [1] * len(names)


def test_a_library_finds_the_functions_of_the_one_beside_it(tmp_path: Path) -> None:
    write(tmp_path, "libabsent.so", "cublasCreate")
    assert loaded(write(tmp_path, "libcublas.so.13", needed="libabsent.so"), "cublasCreate") == [1]


def test_what_is_missing_is_written_beside_the_library_that_needs_it(tmp_path: Path) -> None:
    linked = write(tmp_path, "libtorch.so", "own", needed="libcudnn.so.9")
    with pytest.raises(subprocess.CalledProcessError):
        loaded(linked, "own")
    assert empty_libraries.supply([linked]) == []
    assert loaded(linked, "own") == [1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["libabsent.so", "libcudnn.so.9", "libtorch.so"]


def test_nothing_is_written_where_nothing_is_missing(tmp_path: Path) -> None:
    linked = write(tmp_path, "libtorch.so", "own")
    assert empty_libraries.supply([linked]) == []
    assert empty_libraries.supply([]) == []
    assert [path.name for path in tmp_path.iterdir()] == ["libtorch.so"]


def test_on_an_unknown_architecture_the_missing_libraries_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    linked = write(tmp_path, "libtorch.so", "own", needed="libcudnn.so.9")
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert empty_libraries.supply([linked]) == ["libcudnn.so.9"]
    assert [path.name for path in tmp_path.iterdir()] == ["libtorch.so"]
