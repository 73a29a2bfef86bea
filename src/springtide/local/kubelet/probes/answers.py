# SPDX-License-Identifier: Apache-2.0
"""What a probe may find, and where it has to ask."""

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
    """Healthy, but somebody should look."""


class ProbeError(Exception):
    """The question could not be asked; that says nothing about the container."""


def port_number(port: int | str, container: Mapping[str, Any]) -> int:
    """A port by number, or by the name that the container gives it."""
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
    """A failed connection in the words that users know from kubelet events."""
    if isinstance(error, TimeoutError):
        return f"dial tcp {address}: i/o timeout"
    # The loop words the text of some of these itself; the number is the system's.
    cause = os.strerror(error.errno) if error.errno else str(error)
    return f"dial tcp {address}: connect: {cause.lower()}"
