# SPDX-License-Identifier: Apache-2.0
"""The lock of a node's only agent: two would start every container twice and end each other's."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

_AGAIN = 0.02


class TakenError(Exception):
    """Another agent of the node runs."""


def take(lock: Path, patience: float) -> int:
    """Take the lock, waiting for an earlier agent that is being killed. It is held until the process exits."""
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
