# SPDX-License-Identifier: Apache-2.0
"""How the making of a pod's body says that something is missing."""

from __future__ import annotations

from typing import Final

NOT_HERE: Final = "ErrImagePull"
"""The reason of an image that is not here: what a kubelet says of one that cannot be pulled."""


class NotReady(Exception):
    """Worth another try: `reason` is the waiting reason or the event's, `message` says in kubelet's words why."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message
