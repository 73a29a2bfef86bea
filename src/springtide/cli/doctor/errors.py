# SPDX-License-Identifier: Apache-2.0
"""The error of a failed check."""

from __future__ import annotations


class Wrong(Exception):
    """Something is missing; `fix` is the remedy. The cluster works without it unless it is `needed`."""

    def __init__(self, what: str, fix: str, *, needed: bool = True) -> None:
        super().__init__(what)
        self.fix = fix
        self.needed = needed
