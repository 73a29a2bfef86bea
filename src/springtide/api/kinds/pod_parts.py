# SPDX-License-Identifier: Apache-2.0
"""What an operator adds to pods: users' own volumes and containers must not have the same names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

WAITING_CONTAINER: Final = "wait-for-hosts"
KUBECTL_CONTAINER: Final = "kubectl-delivery"


@dataclass(frozen=True, slots=True)
class Parts:
    volumes: tuple[str, ...] = ()
    containers: tuple[str, ...] = ()
    """Init containers; the other containers of a pod must not have these names either."""
