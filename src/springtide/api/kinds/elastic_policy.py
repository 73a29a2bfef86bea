# SPDX-License-Identifier: Apache-2.0
"""Within which bounds a job may be resized."""

from __future__ import annotations

from typing import Annotated, Final

from springtide.api.kinds.fields import Int32, Wire, doc, rules

MOST_WORKERS: Final = 100_000
"""Of one job: more than a host list has room for. An operator may allow fewer."""


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
"""The CRD's word on a minimum above the maximum."""
