# SPDX-License-Identifier: Apache-2.0
"""Which jobs are old enough to be deleted."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.unit.cli.jobs.cluster import FakeCluster

from springtide.cli.jobs.changing import pruning
from springtide.kube.client import Client
from springtide.kube.resources import Key, Resource

JOBS = Resource("kai.alibabacloud.com", "v1alpha1", "trainingjobs", "TrainingJob")
NOW = datetime(2025, 1, 2, 3, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("state", "created", "old"),
    [
        ("Succeeded", "02:00:00", True),
        ("Failed", "02:00:00", True),
        ("Failed", "02:30:01", False),
        ("Running", "02:00:00", False),
        ("Scaling out", "02:00:00", False),
        ("Queued", "02:00:00", False),
        ("Suspended", "02:00:00", False),
    ],
)
async def test_only_jobs_that_have_ended_are_old(state: str, created: str, old: bool) -> None:
    api = FakeCluster()
    metadata = {"uid": "1", "creationTimestamp": f"2025-01-02T{created}Z"}
    api.put(JOBS, Key("team", "bert"), metadata=metadata, status={"state": state})
    found = await pruning.old_jobs(Client(api), "team", 1800, NOW)
    assert [each.view.name for each in found] == (["bert"] if old else [])
