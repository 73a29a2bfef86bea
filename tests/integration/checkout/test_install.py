# SPDX-License-Identifier: Apache-2.0
"""`make install` from this checkout: the commands work by their links, survive the next install, and go again."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.timeout(300)


def make(target: str, prefix: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "--no-print-directory", target, f"PREFIX={prefix}"],
        cwd=ROOT,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def ok(finished: subprocess.CompletedProcess[str]) -> str:
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


def versions(prefix: Path) -> set[Path]:
    return set((prefix / "lib/springtide").iterdir())


ARENAS_OWN = "#!/bin/sh\necho another\n"


def test_commands_are_installed_replaced_and_removed(tmp_path: Path) -> None:
    prefix = tmp_path / "a place"
    (prefix / "bin").mkdir(parents=True)
    (prefix / "bin/other").touch()
    said = ok(make("install", prefix, SHELL="/bin/bash", HOME=str(tmp_path)))
    assert f"Installed arena, kubectl-tide, kubectl_complete-tide, tide, tiderun in {prefix}/bin." in said
    assert 'export PATH="$HOME/a place/bin:$PATH"\n  tide up\n' in said

    environ = {"PATH": f"{prefix}/bin:/usr/bin:/bin", "HOME": str(tmp_path)}
    run = {"env": environ, "cwd": tmp_path, "capture_output": True, "text": True, "check": True}
    assert subprocess.run(["arena", "version", "--short"], **run).stdout.startswith("arena: ")  # type: ignore[call-overload]
    assert subprocess.run(["tide", "version"], **run).stdout.startswith("springtide ")  # type: ignore[call-overload]
    assert "kind: MPIJob" in subprocess.run(["tide", "example", "mpijob"], **run).stdout  # type: ignore[call-overload]
    ranks = subprocess.run(["tiderun", "-np", "2", "sh", "-c", "echo here"], **run).stdout  # type: ignore[call-overload]
    assert ranks.count("here") == 2
    assert "_TIDE_COMPLETE" in (prefix / "share/bash-completion/completions/tide").read_text()

    (first,) = versions(prefix)
    sleeping = [f"{prefix}/lib/springtide/{first.name}/bin/python", "-c", "import time; time.sleep(1000)"]
    with subprocess.Popen(sleeping) as process:
        try:
            (prefix / "bin/arena").unlink()
            (prefix / "bin/arena").write_text(ARENAS_OWN)
            said = ok(make("install", prefix, PATH=f"{prefix}/bin:{os.environ['PATH']}"))
            assert said.endswith("Start a cluster: tide up\n")
            assert first in versions(prefix)
            assert f"{prefix}/bin/arena is another program and stays. Springtide's arena: {prefix}/lib/" in said
            assert (prefix / "bin/arena").read_text() == ARENAS_OWN
            assert os.readlink(prefix / "bin/tide") != f"../lib/springtide/{first.name}/bin/tide"
            refused = make("uninstall", prefix)
            assert refused.returncode != 0
            assert (
                f"processes run from {prefix}/lib/springtide: {process.pid}\nStop your clusters first" in refused.stderr
            )
        finally:
            process.kill()
    ok(make("uninstall", prefix))
    left = {str(path.relative_to(prefix)) for path in prefix.rglob("*") if not path.is_dir()}
    assert left == {"bin/arena", "bin/other"}
    assert "nothing was removed" in ok(make("uninstall", prefix))


def test_another_program_of_that_name_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/tide").write_text("#!/bin/sh\necho another\n")
    refused = make("install", tmp_path)
    assert refused.returncode != 0
    assert f"Error: {tmp_path}/bin/tide is there already, and was not installed by make install\n" in refused.stderr
    assert not (tmp_path / "lib").exists()
    assert "echo another" in (tmp_path / "bin/tide").read_text()


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    refused = make("install", tmp_path / "file")
    assert refused.returncode != 0
    assert f"Error: cannot change {tmp_path}/file/lib/springtide: Not a directory" in refused.stderr
    assert "Traceback" not in refused.stderr
