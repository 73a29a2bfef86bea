# SPDX-License-Identifier: Apache-2.0
"""All kinds of jobs there are, as their CRDs are made from them. docs/adding-a-kind.md lists what a new kind needs."""

from __future__ import annotations

from typing import Final

from springtide.api.kinds import mpijob, pytorchjob, tfjob
from springtide.api.kinds.resource import Resource

RESOURCES: Final[tuple[Resource, ...]] = (mpijob.RESOURCE, pytorchjob.RESOURCE, tfjob.RESOURCE)
