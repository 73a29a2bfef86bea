# SPDX-License-Identifier: Apache-2.0
"""What every kind does, MPIJobs of both versions do."""

from __future__ import annotations

from typing import Any

from tests.unit.jobs.builders import elastic
from tests.unit.jobs.kind_suite import KindSuite
from tests.unit.jobs.simulated import Cluster


def over_exec(workers: int = 2, **run_policy: Any) -> Cluster:
    return elastic(workers, "v1", runPolicy=run_policy)


def over_ssh(workers: int = 2, **run_policy: Any) -> Cluster:
    return elastic(workers, "v2beta1", runPolicy=run_policy)


class TestOverExec(KindSuite):
    submit = staticmethod(over_exec)


class TestOverSSH(KindSuite):
    submit = staticmethod(over_ssh)
