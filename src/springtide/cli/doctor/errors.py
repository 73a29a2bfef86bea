# SPDX-License-Identifier: Apache-2.0
"""The error of a failed check."""

from __future__ import annotations

from springtide.messages import Language, Text, shown


class Wrong(Exception):
    """Something is missing; `fix` is the remedy. The cluster works without it unless it is `needed`."""

    def __init__(self, what: Text, fix: Text, *, needed: bool = True) -> None:
        super().__init__(shown(what, Language.ENGLISH))
        self.what = what
        self.fix = fix
        self.needed = needed
