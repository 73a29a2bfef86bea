# SPDX-License-Identifier: Apache-2.0
"""What CI does with tests that fail once: they get one more go, are counted, and too many of them fail the run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TESTS = """
from pathlib import Path

import pytest


@pytest.mark.parametrize("what", ["one", "two words", "three"])
def test_needs_luck(what):
    done = Path(__file__).with_name(what)
    assert done.exists() or not done.touch() and what == "three"


def test_is_broken():
    assert Path(__file__).with_name("mended").exists()
"""

Finished = subprocess.CompletedProcess[str]


def script(directory: Path, *command: str | Path, **environ: str) -> Finished:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    return subprocess.run(
        command, cwd=directory, env=inherited | environ, capture_output=True, text=True, check=False, timeout=50
    )


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "test_luck.py").write_text(TESTS)
    return tmp_path


def again(suite: Path, *options: str) -> Finished:
    """As .ci/run has it called by the Makefile, with few plugins, which begins sooner."""
    program = [sys.executable, "-m", "pytest", "-p", "xdist", "-q", *options]
    few = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "SECOND_CHANCES": str(suite / "chances")}
    return script(suite, ROOT / ".ci/again", *program, **few)


def chances(suite: Path) -> list[str]:
    return sorted((suite / "chances").read_text().splitlines())


def test_what_fails_once_is_run_again_and_named(suite: Path) -> None:
    (suite / "mended").touch()
    finished = again(suite)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert chances(suite) == ["test_luck.py::test_needs_luck[one]", "test_luck.py::test_needs_luck[two words]"]
    assert "2 failed, 2 passed" in finished.stdout
    assert finished.stdout.splitlines()[-1].startswith("2 passed")


def test_what_fails_twice_is_broken(suite: Path) -> None:
    finished = again(suite)
    assert finished.returncode == 1
    assert finished.stdout.splitlines()[-1].startswith("1 failed, 2 passed")


def test_what_passes_is_run_once(suite: Path) -> None:
    (suite / "mended").touch()
    finished = again(suite, "-k", "broken or three")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert not (suite / "chances").exists()
    assert "once more" not in finished.stdout


def test_nothing_is_tried_again_when_there_is_no_test(suite: Path) -> None:
    assert again(suite, "-k", "nothing").returncode == pytest.ExitCode.NO_TESTS_COLLECTED


def stages(directory: Path, *lines: str) -> Finished:
    script_of_stages = "\n".join(["set -euo pipefail", f". {ROOT}/.ci/stages.sh", *lines])
    return script(directory, "bash", "-c", script_of_stages)


def test_a_few_second_chances_are_told_of(tmp_path: Path) -> None:
    finished = stages(tmp_path, 'stage suite sh -c \'printf "%s\\n" a::one b::two >>"$SECOND_CHANCES"\'')
    assert finished.returncode == 0
    *_, count, first, second = finished.stdout.splitlines()
    assert count == "=== tests that needed a second chance: 2 (more than 5 fail the run)"
    assert [first, second] == ["a::one", "b::two"]


def test_more_than_five_fail_the_run(tmp_path: Path) -> None:
    one_each = [f"stage suite-{number} sh -c 'echo test::{number} >>\"$SECOND_CHANCES\"'" for number in range(6)]
    assert stages(tmp_path, *one_each[:5]).returncode == 0
    finished = stages(tmp_path, *one_each)
    assert finished.returncode == 1
    assert finished.stdout.splitlines()[-6:] == [f"test::{number}" for number in range(6)]


def test_stages_begun_beside_others_are_told_of_whole_when_they_are_joined(tmp_path: Path) -> None:
    finished = stages(
        tmp_path,
        "begin slow sh -c 'echo first; sleep 0.3; echo last'",
        "stage quick echo between",
        "join slow",
    )
    assert finished.returncode == 0
    text = finished.stdout
    assert text.index("between") < text.index("first\nlast\n=== slow") < text.index("s  quick") < text.index("s  slow")


def test_a_stage_that_fails_ends_the_run_and_what_was_begun(tmp_path: Path) -> None:
    finished = stages(
        tmp_path,
        "begin endless sh -c 'echo so far; echo $$ >begun; exec sleep 50'",
        "stage broken sh -c 'until test -s begun; do sleep 0.02; done; exit 1'",
        "stage never true",
    )
    assert finished.returncode == 1
    assert "never" not in finished.stdout
    assert "s  broken (failed with 1, " in finished.stdout
    assert "=== endless, begun before\nso far\n" in finished.stdout
    assert not Path(f"/proc/{(tmp_path / 'begun').read_text().strip()}").exists()


def test_a_stage_that_failed_beside_others_ends_the_run_when_it_is_joined(tmp_path: Path) -> None:
    finished = stages(
        tmp_path, "begin broken sh -c 'echo why; exit 3'", "stage quick true", "join broken", "stage never true"
    )
    assert finished.returncode == 3
    assert "why" in finished.stdout
    assert "never" not in finished.stdout
