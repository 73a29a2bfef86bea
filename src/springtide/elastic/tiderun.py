# SPDX-License-Identifier: Apache-2.0
"""The commands `tiderun` and `horovodrun` (tiderun with Horovod's command line).

Ctrl-C during import prints no traceback.
"""

from __future__ import annotations

import signal
import sys


def main() -> None:
    _run("tiderun")


def horovodrun() -> None:
    _run("horovodrun")


def _run(program: str) -> None:
    try:
        from springtide.elastic.launcher import command  # noqa: PLC0415 - the slow import

        command.main(program)
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
