# SPDX-License-Identifier: Apache-2.0
"""How many descriptors the launcher may have: two for every rank and some for every host, and systems begin with 1024.

What it starts has as many as it would have without us: there are programs that fail, or take their time, with more.
"""

from __future__ import annotations

import contextlib
import resource
from typing import Final

_GIVEN: Final = resource.getrlimit(resource.RLIMIT_NOFILE)
_ENOUGH: Final = 1 << 16


def claim() -> None:
    """As many as we are allowed."""
    soft, hard = _GIVEN
    wanted = _ENOUGH if hard == resource.RLIM_INFINITY else min(_ENOUGH, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def restore(pid: int) -> None:
    """For a process that was just started."""
    with contextlib.suppress(OSError):
        resource.prlimit(pid, resource.RLIMIT_NOFILE, _GIVEN)
