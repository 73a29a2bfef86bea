# SPDX-License-Identifier: Apache-2.0
"""Objects of a job: what they all have in common, and how they are put right."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.api.builders import an_mpijob
from tests.unit.jobs.builders import elastic_training, running
from tests.unit.jobs.simulated import Cluster

from springtide.jobs.observed import Key, Settings

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


def secret(cluster: Cluster) -> dict[str, Any]:
    return cluster.objects[Key("v1", "Secret", "pi-ssh")]


@pytest.mark.parametrize(
    ("data", "anew"),
    [
        ({"ssh-privatekey": "YQ==", "ssh-publickey": "Yg=="}, False),
        ({"ssh-privatekey": "YQ=="}, True),
        ({"ssh-privatekey": "YQ==", "ssh-publickey": "Yg==", "other": ""}, True),
        (None, True),
    ],
    ids=["other keys of the right names stay", "one is missing", "one is too many", "all are missing"],
)
def test_keys_are_made_anew_when_their_names_differ(data: dict[str, str] | None, anew: bool) -> None:
    cluster = a_cluster("v2beta1")
    before = secret(cluster)["metadata"]["uid"]
    secret(cluster)["data"] = data
    cluster.settle()
    assert (secret(cluster)["metadata"]["uid"] != before) == anew
    assert set(secret(cluster)["data"]) == {"ssh-privatekey", "ssh-publickey"}


@pytest.mark.parametrize(
    "change",
    [{"publishNotReadyAddresses": False}, {"selector": {"app": "other"}}, {"selector": None}],
    ids=["it hides pods that are not ready", "it selects more narrowly", "it selects nothing"],
)
def test_the_service_is_put_right_when(change: dict[str, Any]) -> None:
    cluster = a_cluster("v2beta1")
    service = cluster.objects[Key("v1", "Service", "pi")]
    right = dict(service["spec"])
    selector = {**right["selector"], **change["selector"]} if change.get("selector") else change.get("selector")
    service["spec"] |= {**change, "selector": selector}
    cluster.reconcile()
    assert cluster.objects[Key("v1", "Service", "pi")]["spec"] == right


@pytest.mark.parametrize(
    ("data", "anew"),
    [
        ({"config": "", "id_rsa": "YQ==", "id_rsa.pub": "Yg=="}, False),
        ({"config": "", "id_rsa": "YQ==", "id_rsa.pub": "Yg==", "other": ""}, False),
        ({"id_rsa": "YQ==", "id_rsa.pub": "Yg=="}, True),
    ],
    ids=["all are there", "others may be there, too", "one is missing"],
)
def test_an_object_that_others_may_have_made_may_have_other_keys(data: dict[str, str], anew: bool) -> None:
    cluster = running(elastic_training())
    cluster.objects[Key("v1", "Secret", "train")]["data"] = data
    assert bool(cluster.plan().actions) == anew
