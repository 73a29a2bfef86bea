# SPDX-License-Identifier: Apache-2.0
"""Members of a generation, as the launcher describes them to ranks."""

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
