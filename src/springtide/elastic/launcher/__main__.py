# SPDX-License-Identifier: Apache-2.0
"""`python -m springtide.elastic.launcher`, which is `tiderun`."""

from __future__ import annotations

from springtide.elastic.launcher.command import main

main()
