# SPDX-License-Identifier: Apache-2.0
"""The result of one probe, and the port that it connects to."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Answer:
    healthy: bool
    output: str = ""
    warning: bool = False
    """Healthy, but reported to the user as a warning."""


class ProbeError(Exception):
    """The probe could not be executed; the container's health is unknown."""


def port_number(port: int | str, container: Mapping[str, Any]) -> int:
    """A port by number, or by its name in the container's ports."""
    if isinstance(port, str) and not port.isdigit():
        for known in container.get("ports") or ():
            if known.get("name") == port:
                return int(known["containerPort"])
        raise ProbeError(f"couldn't find port: {port} in container {container['name']}")
    number = int(port)
    if not 0 < number < 65536:
        raise ProbeError(f"invalid port number: {number}")
    return number


def refusal(error: OSError, address: str) -> str:
    """A failed connection in the wording of kubelet events."""
    if isinstance(error, TimeoutError):
        return f"dial tcp {address}: i/o timeout"
    # asyncio rewords some of these errors; the errno is the system's.
    cause = os.strerror(error.errno) if error.errno else str(error)
    return f"dial tcp {address}: connect: {cause.lower()}"
