# SPDX-License-Identifier: Apache-2.0
"""All kinds there are."""

from __future__ import annotations

from typing import Final

from springtide.api.kinds import mpijob
from springtide.api.kinds.resource import Resource

RESOURCES: Final[tuple[Resource, ...]] = (mpijob.RESOURCE,)
