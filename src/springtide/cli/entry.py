# SPDX-License-Identifier: Apache-2.0
"""Where the programs begin: Ctrl-C ends them without a word from the first moment, also while modules are imported."""

from __future__ import annotations

import importlib
import signal
import sys
from typing import Final

_INTERRUPTED: Final = 130


def tide() -> None:
    _run("springtide.cli.app")


def arena() -> None:
    _run("springtide.cli.arena.app")


def _run(module: str) -> None:
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:  # not where it is to be ignored, as behind `nohup`
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        main = importlib.import_module(module).main
        signal.signal(signal.SIGINT, handler)
        main()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
