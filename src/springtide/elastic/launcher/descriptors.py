# SPDX-License-Identifier: Apache-2.0
"""The launcher's limit of file descriptors: two are needed per rank and some per host; the default is 1024.

Child processes get the original limit: some programs fail, or are slow, with a high one.
"""

from __future__ import annotations

import contextlib
import resource
from typing import Final

_GIVEN: Final = resource.getrlimit(resource.RLIMIT_NOFILE)
_ENOUGH: Final = 1 << 16


def claim() -> None:
    """Raise the limit as far as the hard limit allows."""
    soft, hard = _GIVEN
    wanted = _ENOUGH if hard == resource.RLIM_INFINITY else min(_ENOUGH, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def restore(pid: int) -> None:
    """Give a child process the original limit."""
    with contextlib.suppress(OSError):
        resource.prlimit(pid, resource.RLIMIT_NOFILE, _GIVEN)
