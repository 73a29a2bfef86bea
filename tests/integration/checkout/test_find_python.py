# SPDX-License-Identifier: Apache-2.0
"""Which interpreter `make` takes: what is on the PATH, else what pyenv and uv have installed; never a download."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
Python = Callable[[str, str], Path]


@pytest.fixture
def python(tmp_path: Path) -> Python:
    """Puts something at a path that answers as an interpreter of a version does, or is pyenv's shim for none."""

    def put(path: str, version: str) -> Path:
        place = tmp_path / path
        place.parent.mkdir(parents=True, exist_ok=True)
        answer = (
            f'echo "{version} {place}"' if version else f'echo "pyenv: {place.name}: command not found" >&2; exit 127'
        )
        place.write_text(f"#!/bin/sh\n{answer}\n")
        place.chmod(0o755)
        return place

    return put


def find(home: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """With nothing but shell tools and what is in `home`; interpreters in /usr/bin are not there, either."""
    tools = home / "tools"
    if not tools.exists():
        tools.mkdir()
        for name in ("sh", "ls", "sed", "sort", "grep", "dirname"):
            (tools / name).symlink_to(f"/bin/{name}" if Path(f"/bin/{name}").exists() else f"/usr/bin/{name}")
    return subprocess.run(
        [ROOT / "hack/find_python.sh", *arguments],
        env={"HOME": str(home), "PATH": f"{home}/bin:{tools}"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_python3_is_taken_if_it_is_new_enough(tmp_path: Path, python: Python) -> None:
    wanted = python("bin/python3", "3.12.4")
    python("bin/python3.14", "3.14.0")
    assert find(tmp_path).stdout == f"{wanted}\n"


@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_one_interpreter_alone_on_the_path_is_enough(tmp_path: Path, python: Python, version: str) -> None:
    wanted = python(f"bin/python{version}", f"{version}.1")
    assert find(tmp_path).stdout == f"{wanted}\n"


def test_old_ones_and_shims_that_lead_nowhere_are_passed_over(tmp_path: Path, python: Python) -> None:
    python("bin/python3", "3.9.2")
    python("bin/python3.14", "")
    python("bin/python3.13", "")
    wanted = python("bin/python3.12", "3.12.1")
    assert find(tmp_path).stdout == f"{wanted}\n"


@pytest.mark.parametrize(
    "place",
    [".pyenv/versions/3.13.0/bin/python3.13", ".local/share/uv/python/cpython-3.13.2-linux-x86_64-gnu/bin/python3.13"],
)
@pytest.mark.parametrize("request_", ["3.13", "python3.13", "cpython@3.13", "cpython-3.13"])
def test_a_version_is_found_where_pyenv_and_uv_install(
    tmp_path: Path, python: Python, place: str, request_: str
) -> None:
    python("bin/python3", "3.11.2")
    python("bin/python3.13", "")
    wanted = python(place, "3.13.2")
    assert find(tmp_path, request_).stdout == f"{wanted}\n"


def test_a_path_a_program_and_a_directory_can_be_asked_for(tmp_path: Path, python: Python) -> None:
    wanted = python("opt/bin/python3", "3.12.9")
    here = python("bin/mypython", "3.13.1")
    assert find(tmp_path, wanted).stdout == f"{wanted}\n"
    assert find(tmp_path, tmp_path / "opt").stdout == f"{wanted}\n"
    assert find(tmp_path, "mypython").stdout == f"{here}\n"


@pytest.mark.parametrize(
    ("request_", "complaint"),
    [
        ("3.14", "UV_PYTHON=3.14: no Python 3.14 was found."),
        ("3.12.9", "UV_PYTHON=3.12.9: no Python 3.12.9 was found."),
        ("3.9", "UV_PYTHON=3.9 is too old."),
        ("pypy", "UV_PYTHON=pypy is not a version, a program or a path."),
        ("/nowhere/python", "UV_PYTHON=/nowhere/python is not a version, a program or a path."),
        ("sh", "sh is not a Python that starts."),
    ],
)
def test_what_is_not_there_is_answered_with_what_is(
    tmp_path: Path, python: Python, request_: str, complaint: str
) -> None:
    python("bin/python3", "3.9.18")
    there = python(".pyenv/versions/3.12.1/bin/python3.12", "3.12.1")
    answer = find(tmp_path, request_)
    assert answer.returncode == 1
    assert complaint in answer.stderr
    assert f"  3.12.1  {there}\n" in answer.stderr
    assert "UV_PYTHON=VERSION" in answer.stderr


def test_without_any_it_says_what_is_needed(tmp_path: Path, python: Python) -> None:
    python("bin/python3", "3.10.4")
    answer = find(tmp_path)
    assert (answer.returncode, answer.stdout) == (1, "")
    assert "Error: no Python 3.11 or newer was found." in answer.stderr


def test_a_virtual_environment_is_what_it_was_made_from() -> None:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    base = os.path.realpath(sys.executable)

    def same(request_: str) -> int:
        return subprocess.run([ROOT / "hack/find_python.sh", "--is", request_, sys.executable], check=False).returncode

    assert (same(version), same(base), same("3.10"), same("/bin/sh")) == (0, 0, 1, 1)
