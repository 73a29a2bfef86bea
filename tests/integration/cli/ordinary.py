# SPDX-License-Identifier: Apache-2.0
"""`tide` as run by a user without any rights, where the tests themselves are run by root."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.integration.cli.conftest import Tide

NOBODY = 65534
SOURCES = Path(__file__).parents[3] / "src"


def usable_by_anybody() -> tuple[str, dict[str, str]] | None:
    """A Python that an ordinary user can run with our packages: root's own often lies in root's home."""
    environment = {"PYTHONPATH": f"{SOURCES}:{sysconfig.get_path('purelib')}", "PYTHONDONTWRITEBYTECODE": "1"}
    version = ".".join(map(str, sys.version_info[:2]))
    for python in (sys.executable, f"/usr/bin/python{version}", f"/usr/local/bin/python{version}"):
        command = [python, "-c", "import springtide.local.cluster"]
        try:
            subprocess.run(
                command, check=True, capture_output=True, env=environment, user=NOBODY, group=NOBODY, extra_groups=[]
            )
        except (OSError, subprocess.SubprocessError):
            continue
        return python, environment
    return None


@contextmanager
def nobody_s_home() -> Iterator[Tide]:
    """Not in pytest's folders, which only their owner enters."""
    found = usable_by_anybody()
    if found is None:
        pytest.skip("no Python here that another user could run")
    program, environment = found
    home = Path(tempfile.mkdtemp(prefix="springtide-home-"))
    os.chown(home, NOBODY, NOBODY)
    tide = Tide(home, [program, "-m", "springtide.cli"], environment, NOBODY)
    yield tide
    tide.kill_all()
    shutil.rmtree(home)
