# SPDX-License-Identifier: Apache-2.0
"""Runs netd: `python -I -S .../network/__main__.py DATA_DIR [--no-uplink]`.

Run by path and without site-packages, so that netd starts in milliseconds and stays small; only the directory that
holds the `springtide` package is on the import path.
"""

from __future__ import annotations

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.normpath(os.path.join(_HERE, "..", "..", "..")))

from springtide.local.network.netd import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
