# SPDX-License-Identifier: Apache-2.0
"""How a cluster ends, and who says so.

Ctrl-C, the end of the terminal and a plain SIGTERM end it with its pods, each within its grace. A second Ctrl-C ends
the pods at once. `tide down` writes what it wants into a file before it sends SIGTERM, and may do so again to make
haste. When the data directory disappears, the pods' files are gone with it, so they end at once.
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
    """Seconds that pods get at most; None leaves it to them."""


AT_ONCE = Ending(grace=0.0)


def ask(directory: DataDir, ending: Ending) -> None:
    """Leave word for the SIGTERM that follows."""
    note = {"keepPods": ending.keep_pods, "grace": ending.grace}
    write_private(directory.ending, json.dumps(note).encode())


def asked(directory: DataDir) -> Ending:
    """The word that was left, which is good once; without one, an ending like any other."""
    try:
        note = json.loads(directory.ending.read_bytes())
        directory.ending.unlink(missing_ok=True)
        grace = note["grace"]
        return Ending(bool(note["keepPods"]), None if grace is None else float(grace))
    except (OSError, ValueError, KeyError, TypeError):
        return Ending()
