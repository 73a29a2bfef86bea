# SPDX-License-Identifier: Apache-2.0
"""What every kind does, PyTorchJobs do: with a master, with workers alone, elastic ones, and those restarted whole."""

from __future__ import annotations

from typing import Any

from tests.unit.jobs.builders import pytorch
from tests.unit.jobs.kind_suite import KindSuite
from tests.unit.jobs.simulated import Cluster


def with_master(workers: int = 2, **run_policy: Any) -> Cluster:
    return pytorch({"Master": 1, "Worker": workers}, runPolicy={"backoffLimit": 2, **run_policy})


def workers_alone(workers: int = 2, **run_policy: Any) -> Cluster:
    return pytorch({"Worker": workers}, restart="ExitCode", runPolicy={"backoffLimit": 2, **run_policy})


def elastic(workers: int = 2, **run_policy: Any) -> Cluster:
    policy = {"minReplicas": 1, "maxReplicas": 3}
    return pytorch({"Worker": workers}, elasticPolicy=policy, runPolicy={"backoffLimit": 2, **run_policy})


def whole_job(workers: int = 2, **run_policy: Any) -> Cluster:
    roles = {"Master": 1, "Worker": workers}
    restart = {"springtide.dev/restart": "whole-job"}
    return pytorch(roles, restart, runPolicy={"backoffLimit": 2, **run_policy})


class TestWithMaster(KindSuite):
    submit = staticmethod(with_master)


class TestWorkersAlone(KindSuite):
    submit = staticmethod(workers_alone)


class TestElastic(KindSuite):
    submit = staticmethod(elastic)


class TestWholeJob(KindSuite):
    submit = staticmethod(whole_job)
