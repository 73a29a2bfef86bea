# SPDX-License-Identifier: Apache-2.0
"""Why a container would wait on the embedded cluster, known before its pod exists.

The kubelet says the same of the pod, later, and looks further: into the volumes that the container mounts.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from typing import Any, Final

from springtide.local.environments import advice, code_fetchers, operators, presets
from springtide.local.environments.environment import Environment
from springtide.local.environments.shelf import Environments

_DIRECTORIES: Final = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")


def obstacle(shelf: Environments, container: Mapping[str, Any]) -> str:
    """Why nothing runs for the container's image or command, and what to do. Empty if something does, or if only the
    operator knows: it gives containers a command that have none."""
    image, command = str(container.get("image", "")), container.get("command") or ()
    program = str(command[0]) if command else ""
    if (made := shelf.made_for(image)) is not None:
        return "" if _has(made, program) else advice.explain_missing(image, made, program)
    if operators.for_image(image) is not None:
        return ""
    if (fetcher := code_fetchers.for_image(image)) is not None:
        program = program or code_fetchers.PROGRAM
        return "" if _has(fetcher, program) else advice.explain_absent(image, program)
    if (preset := presets.for_image(image)) is not None:
        return advice.explain_unmade(image, preset)
    return "" if _has(shelf.fallback, program) else advice.explain_absent(image, program)


def _has(environment: Environment, program: str) -> bool:
    """A path may be in a volume, which only the container sees."""
    path = os.pathsep.join((f"{environment.prefix}/bin", *_DIRECTORIES))
    return not program or "/" in program or shutil.which(program, path=path) is not None
