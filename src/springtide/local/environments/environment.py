# SPDX-License-Identifier: Apache-2.0
"""The replacement of an image: a Python environment, files at absolute paths, and a working directory."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable

import msgspec

from springtide.local.environments import patterns

OWN = "tide"
"""The name of the environment that runs `tide`; images that fit no other run in it."""
OWN_IMAGES = ("alpine", "bash", "busybox", "centos", "debian", "fedora", "python", "ubuntu", "*/python")
"""Images that it fully replaces: they have what any machine with a Python has. A command that a container of another
image does not find belongs to an image that is not available here."""


class Files(msgspec.Struct, frozen=True, omit_defaults=True):
    """A directory of this machine that is mounted into every pod of the environment."""

    source: str
    target: str
    copied: bool = False
    """Whether each container gets a writable copy of its own, like a layer of an image."""


class Environment(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str
    prefix: str
    """The directory that contains its `bin`."""
    images: tuple[str, ...] = ()
    files: tuple[Files, ...] = ()
    workdir: str = ""
    paths: tuple[str, ...] = ()
    """Every directory that its Python reads from: all must be visible in a container."""
    python: str = ""
    requirements: tuple[str, ...] = ()
    """The requirements it was created with, as the user wrote them."""
    entrypoint: tuple[str, ...] = ()
    """The command of a container without `command`, put before its `args`."""
    cmd: tuple[str, ...] = ()
    """Appended to the entrypoint in a container that has neither `command` nor `args`."""
    env: dict[str, str] = {}
    """Default variables of its containers."""
    preset: str = ""
    """The preset it was created from, if any."""
    made: str = ""
    """The time of creation, in UTC. Of two environments for the same images the newer one is used."""
    notice: str = ""
    """Set for a stand-in of a whole program: its containers run the environment's entrypoint, whatever their command
    is, and this text explains that to their owner."""

    @property
    def variables(self) -> dict[str, str]:
        """Variables of its programs. The daemon of Open MPI 4 from a wheel uses the prefix it was built with, unless it
        is started by `mpirun` or OPAL_PREFIX is set."""
        found = {"OPAL_PREFIX": self.prefix} if os.path.exists(f"{self.prefix}/bin/orted") else {}
        return found | self.env

    def has(self, image: str) -> bool:
        """Whether it has the image's content. The environment that runs `tide` is used for all images that fit no
        other, and lacks the content of most of them."""
        return self.name != OWN or patterns.best(self.images, image) is not None


def own() -> Environment:
    """The environment that this process runs in."""
    # A process started with `-m` has its working directory in front, which belongs to no environment.
    imported = [path for path in sys.path if path != os.getcwd()]
    home = os.path.dirname(os.path.dirname(os.path.realpath(sys.executable)))
    paths = outermost([sys.prefix, sys.base_prefix, home, *imported])
    return Environment(OWN, sys.prefix, OWN_IMAGES, paths=paths, python=platform.python_version())


def outermost(paths: Iterable[str]) -> tuple[str, ...]:
    """The existing directories among the paths, with their real paths, without directories inside another."""
    found = {path for path in paths if os.path.isabs(path) and os.path.isdir(path)}
    found |= {os.path.realpath(path) for path in found}
    return tuple(sorted(path for path in found if not any(_inside(path, other) for other in found)))


def _inside(path: str, other: str) -> bool:
    return path != other and path.startswith(other.rstrip("/") + "/")
