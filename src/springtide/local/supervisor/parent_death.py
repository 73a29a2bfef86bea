# SPDX-License-Identifier: Apache-2.0
"""Runs a module as `python -m` would, in a process that dies with its parent.

    python -m springtide.local.supervisor.parent_death PARENT MODULE ARGUMENTS...

A server or a node agent without a supervisor would block the next one. It gets SIGKILL, which both tolerate at
any moment and which also ends a hung process. Linux sends the signal; elsewhere a thread polls the parent.
"""

from __future__ import annotations

import ctypes
import os
import runpy
import signal
import sys
import threading
import time

_PR_SET_PDEATHSIG = 1
_LOOK = 1.0


def die_with(parent: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    else:
        threading.Thread(target=_look, args=(parent,), daemon=True).start()
    if os.getppid() != parent:  # the parent exited before prctl took effect
        os.kill(os.getpid(), signal.SIGKILL)


def _look(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    parent, module = int(sys.argv[1]), sys.argv[2]
    die_with(parent)
    del sys.argv[:2]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
