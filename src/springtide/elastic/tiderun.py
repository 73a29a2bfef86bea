# SPDX-License-Identifier: Apache-2.0
"""The command `tiderun`. Whoever thinks better of it while it is still being loaded is told nothing of where it was."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    try:
        from springtide.elastic import launcher  # noqa: PLC0415 - this is what takes its time

        launcher.main()
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
