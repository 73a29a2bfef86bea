# SPDX-License-Identifier: Apache-2.0
"""How a cluster is shut down, and how that is requested.

Ctrl-C, a closed terminal and a plain SIGTERM shut it down with its pods, each within its grace period. A second Ctrl-C
kills the pods at once. `tide down` writes its options into a file before it sends SIGTERM, and may do so again with a
shorter grace period. When the data directory disappears, so have the pods' files, and the pods are killed at once.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from springtide.local.access.files import write_private
from springtide.local.datadir import DataDir


@dataclass(frozen=True, slots=True)
class Ending:
    keep_pods: bool = False
    grace: float | None = None
    """The maximum grace period in seconds; None leaves it to the pods."""


AT_ONCE = Ending(grace=0.0)


def ask(directory: DataDir, ending: Ending) -> None:
    """Writes the options for the SIGTERM that follows."""
    note = {"keepPods": ending.keep_pods, "grace": ending.grace}
    write_private(directory.ending, json.dumps(note).encode())


def asked(directory: DataDir) -> Ending:
    """The written options, valid once; without any, a plain shutdown."""
    try:
        note = json.loads(directory.ending.read_bytes())
        directory.ending.unlink(missing_ok=True)
        grace = note["grace"]
        return Ending(bool(note["keepPods"]), None if grace is None else float(grace))
    except (OSError, ValueError, KeyError, TypeError):
        return Ending()
