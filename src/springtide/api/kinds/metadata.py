# SPDX-License-Identifier: Apache-2.0
"""The fields of an object's `metadata` that Springtide reads."""

from __future__ import annotations

from datetime import datetime

from msgspec import field

from springtide.api.kinds.fields import Wire


class ObjectMeta(Wire, frozen=True, kw_only=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
