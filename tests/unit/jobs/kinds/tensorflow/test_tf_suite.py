# SPDX-License-Identifier: Apache-2.0
"""What every kind does, TFJobs do: with a chief, with workers alone, and with workers that come and go."""

from __future__ import annotations

from typing import Any

from tests.unit.jobs.builders import tensorflow
from tests.unit.jobs.kind_suite import KindSuite
from tests.unit.jobs.simulated import Cluster


def with_chief(workers: int = 2, **run_policy: Any) -> Cluster:
    roles = {"Chief": 1, "PS": 1, "Worker": workers}
    return tensorflow(roles, restart="OnFailure", runPolicy={"backoffLimit": 2, **run_policy})


def workers_alone(workers: int = 2, **run_policy: Any) -> Cluster:
    spec: dict[str, Any] = {"successPolicy": "AllWorkers", "runPolicy": {"backoffLimit": 2, **run_policy}}
    return tensorflow({"Worker": workers}, restart="ExitCode", **spec)


def dynamic(workers: int = 2, **run_policy: Any) -> Cluster:
    spec: dict[str, Any] = {"enableDynamicWorker": True, "runPolicy": {"backoffLimit": 2, **run_policy}}
    return tensorflow({"PS": 1, "Worker": workers}, restart="OnFailure", **spec)


class TestWithChief(KindSuite):
    submit = staticmethod(with_chief)


class TestWorkersAlone(KindSuite):
    submit = staticmethod(workers_alone)


class TestDynamic(KindSuite):
    submit = staticmethod(dynamic)
