# SPDX-License-Identifier: Apache-2.0
"""Clusters in well-known places."""

from __future__ import annotations

from typing import Any

from tests.unit.api.builders import an_mpijob
from tests.unit.jobs.simulated import Cluster

ELASTIC = (
    *("horovodrun", "-np", "2", "--min-np", "1", "--max-np", "4"),
    *("--host-discovery-script", "/etc/mpi/discover_hosts.sh", "python", "train.py"),
)


def elastic(workers: int = 2, version: str = "v1", annotations: dict[str, str] | None = None, **spec: Any) -> Cluster:
    """Submitted, nothing done yet."""
    raw = an_mpijob(version, workers=workers, command=ELASTIC, **spec)
    raw["metadata"]["annotations"] = annotations or {}
    return Cluster(raw)


def running(cluster: Cluster) -> Cluster:
    """Its launcher runs, and has run for a while."""
    cluster.settle()
    cluster.events.clear()
    return cluster


def reasons(cluster: Cluster) -> list[str]:
    return [event.reason for event in cluster.events]
