# SPDX-License-Identifier: Apache-2.0
"""Reports unexpected errors to the user in one line with the path of the details, never as a traceback.

Installed as `sys.excepthook` by `main`; expected errors are explained where they occur.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from pathlib import Path
from types import TracebackType

from springtide import messages
from springtide.cli.places import trouble_log
from springtide.messages import shown, text
from springtide.messages.terminals import harmless


def explain(
    kind: type[BaseException],
    error: BaseException,
    trace: TracebackType | None,
    *,
    program: str = "tide",
    lang: str = "",
) -> None:
    """`lang` is the chosen language, which is that of the locale otherwise."""
    if issubclass(kind, KeyboardInterrupt):
        return
    language = messages.language(os.environ, lang)
    what = harmless(traceback.format_exception_only(kind, error)[-1].strip())
    said = text("Error: {program} failed unexpectedly: {what}", program=program, what=what)
    print(shown(said, language), file=sys.stderr)
    log = _recorded("".join(traceback.format_exception(kind, error, trace)))
    if log is not None:
        print(shown(text("The details are in {log}", log=log), language), file=sys.stderr)


def _recorded(details: str) -> Path | None:
    try:
        log = trouble_log()
        log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with log.open("a", encoding="utf-8", errors="replace") as file:
            file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {' '.join(sys.argv)}\n{details}\n")
    except (OSError, RuntimeError):  # the latter when there is no home directory
        return None
    return log
