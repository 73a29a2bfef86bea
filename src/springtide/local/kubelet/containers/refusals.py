# SPDX-License-Identifier: Apache-2.0
"""The error for pods and containers that cannot be started yet."""

from __future__ import annotations

from typing import Final

NOT_HERE: Final = "ErrImagePull"
"""The reason for an image that is not available here: kubelet's for one that cannot be pulled."""


class NotReady(Exception):
    """Worth a retry: `reason` is that of the waiting state or of the event, `message` explains in kubelet's wording."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message
