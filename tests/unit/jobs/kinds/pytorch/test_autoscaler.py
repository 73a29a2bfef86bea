# SPDX-License-Identifier: Apache-2.0
"""The HorizontalPodAutoscaler of `elasticPolicy.metrics`: there while the job runs, as the policy says."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.jobs.builders import pytorch, running
from tests.unit.jobs.simulated import Cluster

from springtide.jobs.observed import Key

KEY = Key("autoscaling/v2", "HorizontalPodAutoscaler", "mnist")
METRICS: list[dict[str, Any]] = [
    {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}
]


def elastic(**policy: Any) -> Cluster:
    return running(pytorch({"Worker": 2}, elasticPolicy={"metrics": METRICS, **policy}))


def test_it_scales_the_job_itself_within_its_bounds() -> None:
    cluster = elastic(minReplicas=1, maxReplicas=4)
    found = cluster.objects[KEY]
    metadata = found["metadata"]
    assert (metadata["name"], metadata["namespace"]) == ("mnist", "ns")
    assert [(owner["kind"], owner["uid"], owner["controller"]) for owner in metadata["ownerReferences"]] == [
        ("PyTorchJob", "u-1", True)
    ]
    assert found["spec"] == {
        "scaleTargetRef": {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "mnist"},
        "minReplicas": 1,
        "maxReplicas": 4,
        "metrics": METRICS,
    }


def test_without_bounds_it_has_the_size_of_the_job_as_both() -> None:
    spec = elastic().objects[KEY]["spec"]
    assert (spec["minReplicas"], spec["maxReplicas"]) == (2, 2)


def test_empty_metrics_ask_for_the_servers_own() -> None:
    assert elastic(metrics=[]).objects[KEY]["spec"]["metrics"] == []


@pytest.mark.parametrize("policy", [None, {"minReplicas": 1}])
def test_a_job_without_metrics_has_none(policy: dict[str, Any] | None) -> None:
    assert KEY not in running(pytorch({"Worker": 2}, elasticPolicy=policy)).objects


def test_it_follows_the_policy_and_what_others_change_in_it_is_restored() -> None:
    cluster = elastic(minReplicas=1, maxReplicas=4)
    cluster.raw["spec"]["elasticPolicy"]["maxReplicas"] = 6
    cluster.settle()
    assert cluster.objects[KEY]["spec"]["maxReplicas"] == 6
    cluster.objects[KEY]["spec"]["minReplicas"] = 3
    cluster.settle()
    assert cluster.objects[KEY]["spec"]["minReplicas"] == 1


def test_it_is_deleted_with_its_metrics() -> None:
    cluster = elastic(minReplicas=1, maxReplicas=4)
    del cluster.raw["spec"]["elasticPolicy"]["metrics"]
    cluster.settle()
    assert KEY not in cluster.objects


def test_it_is_deleted_while_the_job_is_suspended() -> None:
    cluster = elastic(minReplicas=1, maxReplicas=4)
    cluster.policy(suspend=True)
    cluster.settle()
    assert KEY not in cluster.objects
    cluster.policy(suspend=False)
    cluster.settle()
    assert KEY in cluster.objects


def test_a_job_that_is_submitted_suspended_has_none() -> None:
    cluster = pytorch({"Worker": 2}, elasticPolicy={"metrics": METRICS}, runPolicy={"suspend": True})
    cluster.settle()
    assert KEY not in cluster.objects


@pytest.mark.parametrize("clean", ["None", "Running", "All"])
def test_it_is_deleted_when_the_job_has_finished(clean: str) -> None:
    """Upstream leaves it: it goes on reading metrics of pods that have ended."""
    cluster = elastic(minReplicas=1, maxReplicas=4)
    cluster.policy(cleanPodPolicy=clean)
    cluster.succeed()
    cluster.settle()
    assert cluster.conditions["Succeeded"] == "True"
    assert KEY not in cluster.objects
