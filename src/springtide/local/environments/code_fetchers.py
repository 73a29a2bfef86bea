# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for images that fetch code: `arena submit --sync-mode git` puts git-sync before every pod of a job.

They need no environment of their own, only this machine's git.
"""

from __future__ import annotations

from typing import Final

from springtide.local.environments import patterns
from springtide.local.environments.environment import Environment, own

PROGRAM: Final = "git"
_IMAGES: Final = ("git-sync", "*/git-sync")


def for_image(image: str) -> Environment | None:
    """The environment of a container of this image; None for all other images."""
    if patterns.best(_IMAGES, image) is None:
        return None
    base = own()
    # -P: the directory that the container starts in holds no modules of this program.
    entrypoint = (f"{base.prefix}/bin/python", "-P", "-m", "springtide.stand_ins.git_sync")
    return Environment("built-in git-sync", base.prefix, paths=base.paths, python=base.python, entrypoint=entrypoint)
