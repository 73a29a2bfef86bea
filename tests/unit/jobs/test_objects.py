# SPDX-License-Identifier: Apache-2.0
"""Objects of a job: what they all have in common, and how they are put right."""

from __future__ import annotations

import pytest
from tests.unit.api.builders import an_mpijob
from tests.unit.jobs.builders import running
from tests.unit.jobs.simulated import Cluster

from springtide.jobs.observed import Settings

versions = pytest.mark.parametrize("version", ["v1", "v2beta1"])
JOB = "springtide.dev/job"


def a_cluster(version: str) -> Cluster:
    return running(Cluster(an_mpijob(version), Settings(gang_scheduler="volcano")))


@versions
def test_everything_made_for_a_job_says_so(version: str) -> None:
    cluster = a_cluster(version)
    manifests = [*cluster.objects.values(), *cluster.manifests.values()]
    manifests += [each["spec"]["template"] for each in cluster.manifests.values() if each["kind"] == "Job"]
    assert {each["kind"] for each in manifests if "kind" in each} >= {"ConfigMap", "PodGroup", "Pod"}
    assert {each["metadata"]["labels"].get(JOB) for each in manifests} == {"pi"}


@versions
def test_labels_that_were_changed_are_put_back(version: str) -> None:
    cluster = a_cluster(version)
    for body in cluster.objects.values():
        body["metadata"]["labels"] = {JOB: "somebody", "mine": "stays"}
    cluster.reconcile()
    for key, body in cluster.objects.items():
        found = body["metadata"]["labels"]
        assert (found[JOB], found["mine"]) == ("pi", "stays"), key
    cluster.settle()
    assert cluster.plan().actions == ()
