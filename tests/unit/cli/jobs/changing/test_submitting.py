# SPDX-License-Identifier: Apache-2.0
"""What submitting writes, in which order, and what is there after it failed at any point."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.cli.jobs.cluster import FakeCluster

from springtide.cli.jobs.changing import deleting, submitting
from springtide.cli.jobs.changing.submitting import JobExists, LeftOver, NameTaken, Plan
from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.request import Request
from springtide.kube.resources import CONFIGMAPS, SECRETS, Key, Resource
from springtide.manifests import rendering
from springtide.manifests.submissions.submission import EtJob, SshKeys, User
from springtide.views.trainers import ETJOB

JOBS = Resource("kai.alibabacloud.com", "v1alpha1", "trainingjobs", "TrainingJob")
EVERYTHING = {"configmaps/bert-etjob", "secrets/bert", "trainingjobs/bert"}
WRITES = len(EVERYTHING)


def plan() -> Plan:
    wanted = EtJob(
        name="bert",
        namespace="team",
        command="train",
        user=User(name="me", id="1"),
        image="i",
        ssh_keys=SshKeys(private=b"", public=b""),
    )
    objects = rendering.render(wanted)
    return Plan(ETJOB, rendering.kept_beside(wanted, objects), objects)


@pytest.fixture
def api() -> FakeCluster:
    return FakeCluster()


@pytest.fixture
def client(api: FakeCluster) -> Client:
    return Client(api)


class Told:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.undone = 0

    def report(self, line: str, done: str) -> None:
        self.lines.append(f"{line} {done}")

    def undo(self) -> None:
        self.undone += 1


async def submitted(client: Client, told: Told | None = None) -> None:
    told = told or Told()
    await submitting.check(client, plan())
    await submitting.submit(client, plan(), told.report, told.undo)


async def test_the_config_map_is_first_and_the_job_owns_everything(api: FakeCluster, client: Client) -> None:
    told = Told()
    await submitted(client, told)
    assert told.lines == [
        "configmap/bert-etjob created",
        "configmap/bert-etjob labeled",
        "secret/bert created",
        "trainingjob.kai.alibabacloud.com/bert created",
    ]
    assert (api.names(), told.undone) == (EVERYTHING, 0)
    job = api.of("trainingjobs/bert")
    applied = json.loads(job["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"])
    assert applied["spec"] == job["spec"]
    for name in EVERYTHING - {"trainingjobs/bert"}:
        (owner,) = api.of(name)["metadata"]["ownerReferences"]
        assert (owner["uid"], owner["controller"]) == (job["metadata"]["uid"], True)


async def test_a_second_submission_finds_the_job(api: FakeCluster, client: Client) -> None:
    await submitted(client)
    with pytest.raises(JobExists):
        await submitted(client)
    assert api.names() == EVERYTHING


async def test_a_job_of_another_type_with_this_name_keeps_its_objects(api: FakeCluster, client: Client) -> None:
    await submitted(client)
    api.of("trainingjobs/bert")["metadata"]["labels"]["app"] = "deepspeedjob"
    with pytest.raises(JobExists):
        await submitted(client)
    assert api.names() == EVERYTHING


async def test_an_object_of_somebody_else_is_neither_changed_nor_deleted(api: FakeCluster, client: Client) -> None:
    api.put(SECRETS, Key("team", "bert"), data={"theirs": ""})
    with pytest.raises(NameTaken, match="secret/bert exists, and is not of this job"):
        await submitted(client)
    assert api.names() == {"secrets/bert"}
    assert api.of("secrets/bert")["data"] == {"theirs": ""}


async def test_a_left_over_config_map_is_named(api: FakeCluster, client: Client) -> None:
    api.put(CONFIGMAPS, Key("team", "bert-etjob"))
    with pytest.raises(LeftOver, match="bert-etjob"):
        await submitted(client)


async def test_what_a_deleted_job_left_to_the_garbage_collector_does_not_matter(
    api: FakeCluster, client: Client
) -> None:
    await submitted(client)
    api.remove(JOBS, Key("team", "bert"))
    await submitted(client)
    (owner,) = api.of("secrets/bert")["metadata"]["ownerReferences"]
    assert owner["uid"] == api.of("trainingjobs/bert")["metadata"]["uid"]


def failing(at: int, error: BaseException) -> Any:
    """Raises with the request that creates the object with this number."""
    created = iter(range(100))

    def intercept(request: Request) -> None:
        if request.method == "POST" and next(created) == at:
            raise error

    return intercept


@pytest.mark.parametrize("at", range(WRITES))
@pytest.mark.parametrize("error", [errors.Invalid("no"), errors.Forbidden("quota"), KeyboardInterrupt()], ids=repr)
async def test_an_error_takes_everything_back(api: FakeCluster, client: Client, at: int, error: BaseException) -> None:
    api.interceptor, told = failing(at, error), Told()
    with pytest.raises(type(error)):
        await submitted(client, told)
    assert api.names() == set()
    assert told.undone == (at > 0)


@pytest.mark.parametrize("at", range(WRITES))
async def test_after_a_lost_answer_deleting_finds_everything(api: FakeCluster, client: Client, at: int) -> None:
    """The request may have been carried out."""
    api.interceptor = failing(at, errors.Unreachable("lost"))
    with pytest.raises(errors.Unreachable):
        await submitted(client)
    api.interceptor = None
    if at:
        with pytest.raises(LeftOver):
            await submitted(client)
    for there in await deleting.present(client, "team", "bert"):
        await deleting.delete(client, there)
    assert api.names() == set()
    await submitted(client)


async def test_another_submission_at_the_same_time_wins_or_loses_as_a_whole(api: FakeCluster, client: Client) -> None:
    await submitting.check(client, plan())
    await submitted(client)
    with pytest.raises(LeftOver):
        await submitting.submit(client, plan(), Told().report, Told().undo)
    assert api.names() == EVERYTHING
