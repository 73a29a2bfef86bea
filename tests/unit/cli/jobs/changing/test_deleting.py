# SPDX-License-Identifier: Apache-2.0
"""Deleting a job with everything that was made for it, and nothing else."""

from __future__ import annotations

import pytest
from tests.unit.cli.jobs.cluster import FakeCluster

from springtide.cli.jobs.changing import deleting
from springtide.kube.client import Client
from springtide.kube.resources import CONFIGMAPS, SECRETS, Key, Resource
from springtide.views.trainers import ETJOB, TFJOB

JOBS = Resource("kai.alibabacloud.com", "v1alpha1", "trainingjobs", "TrainingJob")
TF_JOBS = Resource("kubeflow.org", "v1", "tfjobs", "TFJob")
BERT = Key("team", "bert")
OWNER = {"apiVersion": JOBS.api_version, "kind": "TrainingJob", "name": "bert", "uid": "1", "controller": True}


@pytest.fixture
def api() -> FakeCluster:
    return FakeCluster()


@pytest.fixture
def client(api: FakeCluster) -> Client:
    return Client(api)


def put_job(api: FakeCluster) -> None:
    api.put(JOBS, BERT, metadata={"uid": "1", "labels": {"app": "etjob"}})


def put_config_map(api: FakeCluster, *lines: str) -> None:
    api.put(CONFIGMAPS, Key("team", "bert-etjob"), metadata={"uid": "2"}, data={"app": "\n".join(lines)})


async def delete(client: Client) -> None:
    for there in await deleting.present(client, "team", "bert"):
        await deleting.delete(client, there)


async def test_the_objects_of_the_config_map_are_deleted_and_itself_last(api: FakeCluster, client: Client) -> None:
    put_job(api)
    api.put(SECRETS, BERT, metadata={"uid": "3", "ownerReferences": [OWNER]})
    put_config_map(api, "secret/bert", "trainingjob.kai.alibabacloud.com/bert")
    await delete(client)
    assert api.names() == set()
    assert [request.path.rsplit("/", 2)[-2] for request in api.requests if request.method == "DELETE"] == [
        "trainingjobs",
        "secrets",
        "configmaps",
    ]


async def test_a_job_without_config_map_is_deleted_alone(api: FakeCluster, client: Client) -> None:
    put_job(api)
    api.put(SECRETS, BERT, metadata={"uid": "3"})
    await delete(client)
    assert api.names() == {"secrets/bert"}


async def test_an_object_that_another_one_controls_is_kept(api: FakeCluster, client: Client) -> None:
    put_job(api)
    other = OWNER | {"kind": "Deployment", "name": "other", "uid": "9"}
    api.put(SECRETS, BERT, metadata={"uid": "3", "ownerReferences": [other]})
    put_config_map(api, "secret/bert", "trainingjob.kai.alibabacloud.com/bert")
    await delete(client)
    assert api.names() == {"secrets/bert"}


async def test_lines_that_name_nothing_known_are_skipped(api: FakeCluster, client: Client) -> None:
    put_config_map(api, "", "nonsense", "widget.example.com/bert", "secret/bert")
    await delete(client)
    assert api.names() == set()


async def test_jobs_of_several_types_are_told_apart(api: FakeCluster, client: Client) -> None:
    put_job(api)
    api.put(TF_JOBS, BERT, metadata={"uid": "4"})
    found = await deleting.present(client, "team", "bert")
    assert {each.trainer.name for each in found} == {"etjob", "tfjob"}
    (only,) = await deleting.present(client, "team", "bert", TFJOB)
    assert only.found is not None
    assert await deleting.present(client, "team", "other", ETJOB) == []


async def test_a_config_map_that_is_no_list_of_objects_is_not_a_job(api: FakeCluster, client: Client) -> None:
    api.put(CONFIGMAPS, Key("team", "bert-etjob"), metadata={"uid": "2"}, data={"settings": ""})
    assert await deleting.present(client, "team", "bert") == []
