# SPDX-License-Identifier: Apache-2.0
"""What stands in for an image: a Python environment, files at absolute paths, and a working directory."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable

import msgspec

from springtide.local.environments import patterns

OWN = "tide"
"""The name of the environment that runs `tide`; images that nothing else fits run in it."""
OWN_IMAGES = ("alpine", "bash", "busybox", "centos", "debian", "fedora", "python", "ubuntu", "*/python")
"""Images that it really stands for: they have what any machine with a Python has. A command that a container of another
image does not find belongs to an image that is not here."""


class Files(msgspec.Struct, frozen=True, omit_defaults=True):
    """A directory of this machine that every pod of the environment sees at a path."""

    source: str
    target: str
    copied: bool = False
    """Whether each container gets a copy of its own, to which it may write, as to a layer of an image."""


class Environment(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str
    prefix: str
    """Where its `bin` is."""
    images: tuple[str, ...] = ()
    files: tuple[Files, ...] = ()
    workdir: str = ""
    paths: tuple[str, ...] = ()
    """Every directory that its Python reads from: a container must see them all."""
    python: str = ""
    requirements: tuple[str, ...] = ()
    """What it was asked for, as written by its maker."""
    entrypoint: tuple[str, ...] = ()
    """What a container runs that has no `command`, before its `args`."""
    cmd: tuple[str, ...] = ()
    """What follows the entrypoint in a container that has neither `command` nor `args`."""
    env: dict[str, str] = {}
    """Variables that its containers have unless they say otherwise."""
    preset: str = ""
    """The one it was made from, if any."""
    made: str = ""
    """When, in UTC. Of two for the same images the younger one is used."""
    notice: str = ""
    """Of what stands in for a whole program: its containers run its entrypoint, whatever command they ask for, and
    this is what their owner should know."""

    @property
    def variables(self) -> dict[str, str]:
        """What its programs have to be told. The daemon of Open MPI 4 comes in a wheel and believes to be where it was
        built, but for `mpirun`, which knows better."""
        found = {"OPAL_PREFIX": self.prefix} if os.path.exists(f"{self.prefix}/bin/orted") else {}
        return found | self.env

    def has(self, image: str) -> bool:
        """Whether it has what an image has. The environment that runs `tide` is used for all images that nothing else
        fits, and has what few of them have."""
        return self.name != OWN or patterns.best(self.images, image) is not None


def own() -> Environment:
    """The environment that this process runs in."""
    # A process started with `-m` has its working directory in front, which is nobody's environment.
    imported = [path for path in sys.path if path != os.getcwd()]
    home = os.path.dirname(os.path.dirname(os.path.realpath(sys.executable)))
    paths = outermost([sys.prefix, sys.base_prefix, home, *imported])
    return Environment(OWN, sys.prefix, OWN_IMAGES, paths=paths, python=platform.python_version())


def outermost(paths: Iterable[str]) -> tuple[str, ...]:
    """The directories among them, by both their names where one is a link, without what lies inside another."""
    found = {path for path in paths if os.path.isabs(path) and os.path.isdir(path)}
    found |= {os.path.realpath(path) for path in found}
    return tuple(sorted(path for path in found if not any(_inside(path, other) for other in found)))


def _inside(path: str, other: str) -> bool:
    return path != other and path.startswith(other.rstrip("/") + "/")
