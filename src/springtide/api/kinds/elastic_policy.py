# SPDX-License-Identifier: Apache-2.0
"""`elasticPolicy`: the bounds of a job's size."""

from __future__ import annotations

from typing import Annotated, Final

from springtide.api.kinds.fields import Int32, Wire, doc, rules

MOST_WORKERS: Final = 100_000
"""The maximum for one job, more than a host list can hold. An operator may allow fewer."""


class ElasticPolicy(Wire, frozen=True, kw_only=True):
    min_replicas: Annotated[
        Int32 | None, doc("The fewest workers that the job trains with.", minimum=1, maximum=MOST_WORKERS)
    ] = None
    max_replicas: Annotated[Int32 | None, doc("The most workers that the job may be resized to.", minimum=1)] = None


ORDERED: Final = rules(
    (
        "!has(self.minReplicas) || !has(self.maxReplicas) || self.minReplicas <= self.maxReplicas",
        "must not be more than maxReplicas",
        ".minReplicas",
    )
)
"""The CRD's rule against a minimum above the maximum."""
