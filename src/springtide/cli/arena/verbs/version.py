# SPDX-License-Identifier: Apache-2.0
"""`arena version`."""

from __future__ import annotations

import platform
from typing import Final

import springtide
from springtide.cli.arena.command_tree import Verb
from springtide.cli.arena.session import Session
from springtide.cli.flags.pflag import Flag, Kind, Parsed

FOLLOWED: Final = "v0.15.5"
"""The release of Arena whose behaviour this is."""


def version(session: Session, line: Parsed) -> None:
    print(f"arena: {FOLLOWED}+springtide-{springtide.__version__}")
    if line.values["short"]:
        return
    print("  BuildDate: ")
    print("  GitCommit: ")
    print("  GitTreeState: ")
    print(f"  GitTag: {FOLLOWED}")
    print(f"  GoVersion: none (Python {platform.python_version()})")
    print(f"  Compiler: {platform.python_implementation()}")
    print(f"  Platform: {platform.system().lower()}/{platform.machine()}")


VERSION: Final = Verb(
    (
        Flag("short", Kind.BOOL, "print only the first line"),
        Flag("verbose", Kind.BOOL, "accepted and ignored: there are no charts", short="v"),
    ),
    version,
)
