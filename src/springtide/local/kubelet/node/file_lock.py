# SPDX-License-Identifier: Apache-2.0
"""One agent per node at a time: two would start every container twice and end what the other has just begun."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

_AGAIN = 0.02


class TakenError(Exception):
    """Another agent of the node runs."""


def take(lock: Path, patience: float) -> int:
    """Wait for the end of a predecessor that is just being killed. The turn lasts as long as the process."""
    lock.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
        except BlockingIOError:
            if time.monotonic() > deadline:
                os.close(descriptor)
                raise TakenError(str(lock)) from None
        time.sleep(_AGAIN)
