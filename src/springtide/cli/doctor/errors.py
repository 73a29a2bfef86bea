# SPDX-License-Identifier: Apache-2.0
"""How a check says that something is missing."""

from __future__ import annotations


class Wrong(Exception):
    """Something is missing, and `fix` is what to do about it. Without a need for it, the cluster works all the same."""

    def __init__(self, what: str, fix: str, *, needed: bool = True) -> None:
        super().__init__(what)
        self.fix = fix
        self.needed = needed
