# SPDX-License-Identifier: Apache-2.0
"""Who belongs to a generation, as ranks are told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Address: TypeAlias = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Member:
    id: int
    rank: int
    host: str
    local_rank: int
    addresses: tuple[Address, ...]
