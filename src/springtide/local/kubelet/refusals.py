# SPDX-License-Identifier: Apache-2.0
"""How the making of a pod's body says that something is missing."""

from __future__ import annotations


class NotReady(Exception):
    """Worth another try: `reason` is the waiting reason or the event's, `message` says in kubelet's words why."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message
