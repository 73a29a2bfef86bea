# SPDX-License-Identifier: Apache-2.0
"""All kinds there are, as their CRDs are made from them. docs/adding-a-kind.md lists what a new kind of job needs."""

from __future__ import annotations

from typing import Final

from springtide.api.kinds import mpijob, pytorchjob, tfjob, trainingjob
from springtide.api.kinds.resource import Resource

RESOURCES: Final[tuple[Resource, ...]] = (
    mpijob.RESOURCE,
    pytorchjob.RESOURCE,
    tfjob.RESOURCE,
    trainingjob.RESOURCE,
)
"""The kinds of jobs."""
DEFINED: Final[tuple[Resource, ...]] = (*RESOURCES, *(each for job in RESOURCES for each in job.scalers))
"""All kinds that have a CRD: jobs and their scalers."""
