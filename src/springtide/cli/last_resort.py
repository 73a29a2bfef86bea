# SPDX-License-Identifier: Apache-2.0
"""Reports unexpected errors to the user in one line with the path of the details, never as a traceback.

Installed as `sys.excepthook` by `main`; expected errors are explained where they occur.
"""

from __future__ import annotations

import sys
import time
import traceback
from pathlib import Path
from types import TracebackType

from springtide.cli.places import trouble_log
from springtide.messages.terminals import harmless


def explain(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None, *, program: str = "tide"
) -> None:
    if issubclass(kind, KeyboardInterrupt):
        return
    what = harmless(traceback.format_exception_only(kind, error)[-1].strip())
    print(f"Error: {program} failed unexpectedly: {what}", file=sys.stderr)
    log = _recorded("".join(traceback.format_exception(kind, error, trace)))
    if log is not None:
        print(f"The details are in {log}", file=sys.stderr)


def _recorded(details: str) -> Path | None:
    try:
        log = trouble_log()
        log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with log.open("a", encoding="utf-8", errors="replace") as file:
            file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {' '.join(sys.argv)}\n{details}\n")
    except (OSError, RuntimeError):  # the latter when there is no home directory
        return None
    return log
