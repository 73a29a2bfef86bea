# SPDX-License-Identifier: Apache-2.0
"""When a finished job is deleted."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.unit.jobs.builders import elastic, running

versions = pytest.mark.parametrize("version", ["v1", "v2beta1"])


@versions
def test_the_job_itself_goes_when_its_time_has_come(version: str) -> None:
    cluster = running(elastic(2, version, runPolicy={"ttlSecondsAfterFinished": 100}))
    cluster.succeed()
    cluster.reconcile()
    cluster.now += timedelta(seconds=99)
    cluster.reconcile()
    assert not cluster.deleted
    cluster.now += timedelta(seconds=1)
    cluster.reconcile()
    assert cluster.deleted
