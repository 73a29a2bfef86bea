# SPDX-License-Identifier: Apache-2.0
"""Workloads that ask for as many pods as a field can say: they get them bit by bit, and hold up nobody."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests import loop_lag
from tests.integration.patience import until

from springtide.kube.resources import DEPLOYMENTS, JOBS, PODS, REPLICASETS, SERVICEACCOUNTS, Key, Obj, Resource
from springtide.local.cluster import Options, running

LARGEST = 2**31 - 1
PODS_SEEN = 600
"""More than one round of a controller makes."""
PATIENCE = 40.0
_POD = {"containers": [{"name": "c", "image": "i"}]}
_LABELS = {"matchLabels": {"a": "b"}}
_TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": _POD}
_SET = {"replicas": LARGEST, "selector": _LABELS, "template": _TEMPLATE}
_JOB = {
    "completions": LARGEST,
    "backoffLimit": LARGEST,
    "template": {"spec": _POD | {"restartPolicy": "Never"}},
}


@pytest.mark.parametrize(
    ("resource", "spec"),
    [
        pytest.param(REPLICASETS, _SET, id="replicas"),
        pytest.param(DEPLOYMENTS, _SET | {"revisionHistoryLimit": LARGEST}, id="deployment"),
        pytest.param(JOBS, _JOB | {"parallelism": LARGEST}, id="job"),
        pytest.param(JOBS, _JOB | {"parallelism": 100_000, "completionMode": "Indexed"}, id="indexed job"),
    ],
)
async def test_others_are_answered_meanwhile(resource: Resource, spec: Obj, tmp_path: Path) -> None:
    async with running(Options(tmp_path, port=0)) as cluster, loop_lag.measured() as lag:
        client = cluster.client("test")
        await until(lambda: client.find(SERVICEACCOUNTS, Key("default", "default")), bool, PATIENCE)
        lag.longest = 0.0
        await client.create(resource, resource.describe(Key("default", "huge")) | {"spec": spec})

        async def pods() -> int:
            return len(cluster.server.store.list(PODS.plural))  # to list them over the API takes the loop's time too

        await until(pods, lambda count: count > PODS_SEEN, PATIENCE)
        assert lag.longest < loop_lag.MOST
