# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from tests.unit.controllers.cached import NAME, OWNER, UID, made
from tests.unit.controllers.scene import Scene, a_scene
from tests.unit.kube.fake_api import answer, status

from springtide.api.kinds.conditions import Condition
from springtide.api.kinds.status import JobStatus, ReplicaStatus
from springtide.controllers.status_patches import status_patch
from springtide.jobs import host_list
from springtide.jobs.actions import Create, Delete, Event, Patch, RequeueAfter, Secrets, StatusPatch
from springtide.jobs.observed import Key
from springtide.jobs.reporting import wait_causes
from springtide.kube import errors
from springtide.kube.controller import Result, Retry, Terminal
from springtide.kube.request import Response
from springtide.kube.resources import CONFIGMAPS, JOBS, PODS, SECRETS, Obj

NOON = datetime(2026, 11, 16, 12, 0, 0, 987654, tzinfo=UTC)
WAITS = JobStatus(state="Queued", explanation="It waits.", replicas=2, selector="springtide.dev/role=Worker")
CONFIG = Key("v1", "ConfigMap", "pi-config")


@pytest.fixture
def scene() -> Scene:
    return a_scene()


def a_config(**body: Any) -> Create:
    return Create(made(CONFIGMAPS, "pi-config", **body))


def a_pod(name: str, role: str = "Worker") -> Create:
    return Create(made(PODS, name, labels={"springtide.dev/role": role}))


async def test_everything_is_done_in_order_but_pods_in_a_row_together(scene: Scene) -> None:
    pods = [a_pod(f"p-{number}") for number in range(3)]
    last = Patch(CONFIG, {"data": {}})
    await scene.act(a_config(), *pods, last, Delete(Key("v1", "Pod", "old"), "u"))
    first, *together, fourth, fifth = scene.server.done()
    assert first == "POST configmaps"
    assert together == ["POST pods"] * 3
    assert [fourth, fifth] == ["PATCH configmaps/pi-config", "DELETE pods/old"]
    assert scene.server.most_at_once == 3


async def test_of_many_pods_only_so_many_are_created_at_once(scene: Scene) -> None:
    await scene.act(*(a_pod(f"p-{number}") for number in range(40)))
    assert (len(scene.server.requests), scene.server.most_at_once) == (40, 16)


async def test_what_was_done_is_in_the_caches(scene: Scene) -> None:
    await scene.act(a_config(), a_pod("p"))
    assert len(scene.caches.held[CONFIGMAPS]) == 1
    assert len(scene.caches.pods) == 1


async def test_the_first_failure_ends_the_doing_after_those_beside_it(scene: Scene) -> None:
    scene.server.answers["POST pods"] = status(500, "InternalError")
    with pytest.raises(errors.ServerError):
        await scene.act(a_pod("p"), a_pod("q"), Patch(CONFIG, {}))
    assert scene.server.done() == ["POST pods", "POST pods"]


async def test_events_are_said_of_the_job_and_a_wait_is_given_back(scene: Scene) -> None:
    result = await scene.act(Event("Normal", "Why", "because"), RequeueAfter(timedelta(seconds=2.5)))
    assert scene.recorder.said == [("Normal", "Why", "because")]
    assert result == Result(requeue_after=2.5)
    assert await scene.act() is None


async def test_keys_are_made_as_their_secret_is_created(scene: Scene) -> None:
    await scene.act(Create(made(SECRETS, "pi-ssh"), Secrets.SSH_KEYS))
    (body,) = scene.server.bodies("POST")
    assert set(body["data"]) == {"ssh-privatekey", "ssh-publickey"}


# What exists already


async def test_what_exists_and_is_the_jobs_own_is_as_good_as_created(scene: Scene) -> None:
    scene.server.answers["POST configmaps"] = status(409, "AlreadyExists")
    scene.server.answers["GET pi-config"] = answer(made(CONFIGMAPS, "pi-config"))
    await scene.act(a_config(), a_pod("p"))
    assert scene.server.done() == [
        "POST configmaps",
        "GET configmaps/pi-config",
        "PATCH configmaps/pi-config",
        "POST pods",
    ]
    (body,) = scene.server.bodies("PATCH")
    assert list(body["metadata"]) == ["uid", "labels"], "of the object that was looked at, and of no other"
    assert scene.recorder.said == []


async def test_but_a_plan_that_took_it_for_missing_may_be_worth_nothing(scene: Scene) -> None:
    scene.server.answers["POST configmaps"] = status(409, "AlreadyExists")
    scene.server.answers["GET pi-config"] = answer(made(CONFIGMAPS, "pi-config"))
    with pytest.raises(errors.AlreadyExists):
        await scene.act(Create(made(CONFIGMAPS, "pi-config"), must_be_new=True), a_pod("p"))
    assert "POST pods" not in scene.server.done()


THEIRS = [None, {**OWNER, "uid": "other", "name": "other"}, {**OWNER, "controller": False}]


@pytest.mark.parametrize("owner", THEIRS)
async def test_somebody_elses_is_told_of_and_left_alone(scene: Scene, owner: Obj | None) -> None:
    scene.server.answers["POST configmaps"] = status(409, "AlreadyExists")
    scene.server.answers["GET pi-config"] = answer(made(CONFIGMAPS, "pi-config", owner=owner))
    with pytest.raises(Retry) as raised:
        await scene.act(a_config(), a_pod("p"))
    assert raised.value.after == 30.0
    ((kind, reason, message),) = scene.recorder.said
    assert (kind, reason) == ("Warning", "ErrResourceExists")
    assert message.startswith('Resource "pi-config" of Kind "ConfigMap" already exists and is not managed by MPIJob. ')
    assert message.endswith("give the job another metadata.name, or delete that ConfigMap")
    assert scene.server.done() == ["POST configmaps", "GET configmaps/pi-config", "PATCH mpijobs/pi/status"]
    (body,) = scene.server.bodies("PATCH")
    (condition,) = body["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["message"]) == ("NameTaken", "True", message)
    assert body["status"]["explanation"] == message


KEYS = ("id_rsa", "id_rsa.pub")
THEIR_KEYS = {"id_rsa": "", "id_rsa.pub": "", "more": ""}
SHARED = Create(made(SECRETS, "pi", type="Opaque"), Secrets.SSH_KEYS, shared=KEYS)


async def test_a_secret_of_others_is_used_as_it_is_and_not_looked_at_again_for_a_while(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = 1000.0
    monkeypatch.setattr("springtide.controllers.acting.time.monotonic", lambda: moment)
    looked = ["POST secrets", "GET secrets/pi"]
    for after, requests in ((0.0, [*looked, "POST pods"]), (59.0, ["POST pods"]), (61.0, [*looked, "POST pods"])):
        moment = 1000.0 + after
        scene.server.requests.clear()
        scene.server.answers["POST secrets"] = status(409, "AlreadyExists")
        scene.server.answers["GET pi"] = answer(made(SECRETS, "pi", owner=None, data=THEIR_KEYS))
        await scene.act(SHARED, a_pod("p"))
        assert scene.server.done() == requests
    assert scene.recorder.said == []


@pytest.mark.parametrize("data", [{"id_rsa": ""}, {}, None], ids=["a key is missing", "no keys", "no data"])
async def test_a_secret_of_others_without_the_keys_is_left_alone(scene: Scene, data: Obj | None) -> None:
    scene.server.answers["POST secrets"] = status(409, "AlreadyExists")
    scene.server.answers["GET pi"] = answer(made(SECRETS, "pi", owner=None, data=data))
    with pytest.raises(Retry):
        await scene.act(SHARED, a_pod("p"))
    assert [reason for _, reason, _ in scene.recorder.said] == ["ErrResourceExists"]
    assert "POST pods" not in scene.server.done()


async def test_a_secret_of_an_earlier_job_of_the_name_is_waited_for(scene: Scene) -> None:
    """It is deleted soon."""
    scene.server.answers["POST secrets"] = status(409, "AlreadyExists")
    before = {**OWNER, "uid": "before"}
    scene.server.answers["GET pi"] = answer(made(SECRETS, "pi", owner=before, data=THEIR_KEYS))
    with pytest.raises(Retry):
        await scene.act(SHARED)
    assert [reason for _, reason, _ in scene.recorder.said] == ["EarlierJobRemains"]


async def test_a_pods_name_that_is_taken_holds_up_nothing_else_and_is_told_once(scene: Scene) -> None:
    async def act(old: JobStatus) -> JobStatus:
        scene.server.answers["POST pods"] = status(409, "AlreadyExists")
        scene.server.answers["GET p"] = answer(made(PODS, "p", owner=None))
        with pytest.raises(Retry) as raised:
            await scene.act(
                a_pod("p"),
                a_pod("q"),
                Delete(Key("v1", "Pod", "old"), "u"),
                RequeueAfter(timedelta(seconds=7)),
                old=old,
            )
        assert raised.value.after == 7.0
        bodies = scene.server.bodies("PATCH")
        scene.server.requests.clear()
        return msgspec.convert(bodies[-1]["status"], JobStatus) if bodies else old

    first = await act(JobStatus())
    assert [each.type for each in first.conditions] == ["NameTaken"]
    assert await act(first) == first
    assert [reason for _, reason, _ in scene.recorder.said] == ["ErrResourceExists"]


async def test_a_status_that_was_planned_says_that_a_name_is_still_taken(scene: Scene) -> None:
    """The plan cannot know."""
    since = Condition(
        type="NameTaken", status="True", reason="ErrResourceExists", message=host_list.exists("Pod", "p", "MPIJob")
    )
    freed = replace(since, status="False", reason="NamesFree", message="")
    scene.server.answers["POST pods"] = status(409, "AlreadyExists")
    scene.server.answers["GET p"] = answer(made(PODS, "p", owner=None))
    old = replace(WAITS, conditions=(since,), replicas=1, explanation=since.message)
    with pytest.raises(Retry):
        await scene.act(a_pod("p"), StatusPatch(replace(WAITS, conditions=(freed,))), old=old)
    assert scene.server.bodies("PATCH") == []


async def test_what_an_earlier_job_of_the_name_has_left_is_waited_for(scene: Scene) -> None:
    scene.server.answers["POST configmaps"] = status(409, "AlreadyExists")
    scene.server.answers["GET pi-config"] = answer(made(CONFIGMAPS, "pi-config", owner={**OWNER, "uid": "before"}))
    with pytest.raises(Retry) as raised:
        await scene.act(a_config())
    assert raised.value.after == 2.0
    ((_, reason, message),) = scene.recorder.said
    assert reason == "EarlierJobRemains"
    assert message.endswith("objects of an earlier MPIJob of the same name are deleted: ConfigMap pi-config")


async def test_a_patch_is_of_the_object_that_was_seen(scene: Scene) -> None:
    await scene.act(Patch(CONFIG, {"metadata": {"labels": {}}}, uid="u"), Patch(CONFIG, {"data": {}}, "7"))
    first, second = scene.server.bodies("PATCH")
    assert first == {"metadata": {"labels": {}, "uid": "u"}}
    assert second == {"data": {}, "metadata": {"resourceVersion": "7"}}


async def test_what_was_in_the_way_and_is_gone_when_looked_at_is_tried_again(scene: Scene) -> None:
    scene.server.answers["POST configmaps"] = status(409, "AlreadyExists")
    scene.server.answers["GET pi-config"] = status(404, "NotFound")
    with pytest.raises(errors.NotFound):
        await scene.act(a_config())


# Refusals


@pytest.mark.parametrize(
    ("refusal", "raised"),
    [
        (status(403, "Forbidden", "exceeded quota: pods"), errors.Forbidden),
        (status(403, "Forbidden", 'admission webhook "x" denied the request: no'), errors.Forbidden),
        (status(500, "InternalError", 'failed calling webhook "x": connection refused'), errors.ServerError),
        (status(422, "Invalid", "spec.containers: Required value"), Terminal),
        (status(400, "BadRequest", "what?"), Terminal),
    ],
)
async def test_a_refusal_is_told_by_an_event_and_in_the_jobs_explanation(
    scene: Scene, refusal: Response, raised: type[Exception]
) -> None:
    said = msgspec.json.decode(refusal.body)["message"]
    quota = "quota" in said
    scene.server.answers["POST pods"] = refusal
    with pytest.raises(raised):
        await scene.act(a_pod("p"), StatusPatch(WAITS))
    message = f"A worker pod cannot be created: {said}{'; see kubectl describe quota -n ns' if quota else '.'}"
    reason = "QuotaExceeded" if quota else "FailedCreate"
    assert scene.recorder.said == [("Warning", reason, message)]
    (body,) = scene.server.bodies("PATCH")
    (waits,) = body["status"].pop("conditions")
    assert (waits["type"], waits["status"], waits["reason"], waits["message"]) == ("Waiting", "True", reason, message)
    assert body["status"] == {"state": "Queued", "explanation": message, "replicas": 1, "selector": WAITS.selector}


@pytest.mark.parametrize(("counted", "left"), [("Server", 0), ("Worker", 1), ("Launcher", 2)])
async def test_refused_pods_are_not_counted_where_the_status_counts_their_like(
    scene: Scene, counted: str, left: int
) -> None:
    scene.server.refuses = status(422, "Invalid", "no")
    waits = replace(WAITS, selector=f"springtide.dev/role={counted}")
    with pytest.raises(Terminal):
        await scene.act(a_pod("s-0", "Server"), a_pod("s-1", "Server"), a_pod("w"), StatusPatch(waits))
    (body,) = scene.server.bodies("PATCH")
    assert body["status"].get("replicas", 0) == left


async def test_a_pod_that_is_refused_holds_up_nothing_else(scene: Scene) -> None:
    scene.server.answers["POST pods"] = status(403, "Forbidden", "exceeded quota")
    with pytest.raises(errors.Forbidden):
        await scene.act(a_pod("p"), Delete(Key("v1", "Pod", "old"), "u"), Event("Normal", "Why", "because"))
    assert scene.server.done()[:2] == ["POST pods", "DELETE pods/old"]
    assert scene.recorder.said[-1] == ("Normal", "Why", "because")


async def test_nor_does_a_launchers_job(scene: Scene) -> None:
    scene.server.answers["POST jobs"] = status(422, "Invalid", "no")
    with pytest.raises(Terminal):
        await scene.act(Create(made(JOBS, "pi-launcher")), Delete(Key("v1", "Pod", "old"), "u"))
    assert scene.server.done()[:2] == ["POST jobs", "DELETE pods/old"]
    message = 'Job "pi-launcher" cannot be created: no.'
    assert scene.recorder.said == [("Warning", "FailedCreate", message)]
    (body,) = scene.server.bodies("PATCH")
    assert body["status"]["explanation"] == message


async def test_of_many_refused_pods_the_first_is_told(scene: Scene) -> None:
    scene.server.refuses = status(422, "Invalid", "no")
    with pytest.raises(Terminal):
        await scene.act(a_pod("p-0"), a_pod("p-1"), a_pod("p-2"), a_pod("l", "Launcher"))
    assert scene.recorder.said == [("Warning", "FailedCreate", "A worker pod cannot be created: no.")]


async def test_the_same_refusal_is_neither_told_nor_written_again(scene: Scene) -> None:
    """Nor is one that differs in numbers alone."""
    scene.server.answers["POST pods"] = status(403, "Forbidden", "exceeded quota, used: pods=3")
    with pytest.raises(errors.Forbidden):
        await scene.act(a_pod("p"), StatusPatch(WAITS))
    known = msgspec.convert(scene.server.bodies("PATCH")[-1]["status"], JobStatus)
    waits = replace(WAITS, conditions=wait_causes.told(known.conditions, None, datetime.now(UTC)))
    scene.server.answers["POST pods"] = status(403, "Forbidden", "exceeded quota, used: pods=4")
    with pytest.raises(errors.Forbidden):
        await scene.act(a_pod("p"), StatusPatch(waits), old=known)
    assert len(scene.server.bodies("PATCH")) == 1
    assert len(scene.recorder.said) == 1


@pytest.mark.parametrize(
    ("refusal", "wait", "raised", "after"),
    [
        (status(403, "Forbidden", "quota"), 2, Retry, 2.0),
        (status(403, "Forbidden", "quota"), 3600, errors.Forbidden, None),
        (status(422, "Invalid", "no"), 3600, Retry, 3600.0),
    ],
)
async def test_what_a_plan_waits_for_is_not_missed(
    scene: Scene, refusal: Response, wait: int, raised: type[Exception], after: float | None
) -> None:
    scene.server.answers["POST pods"] = refusal
    with pytest.raises(raised) as told:
        await scene.act(a_pod("p"), RequeueAfter(timedelta(seconds=wait)))
    assert getattr(told.value, "after", None) == after


async def test_other_objects_are_called_by_their_names_and_end_the_doing(scene: Scene) -> None:
    scene.server.answers["POST configmaps"] = status(403, "Forbidden", "no")
    with pytest.raises(errors.Forbidden):
        await scene.act(a_config(), a_pod("p"), StatusPatch(JobStatus(state="Running")))
    message = 'ConfigMap "pi-config" cannot be created: no.'
    assert scene.recorder.said == [("Warning", "FailedCreate", message)]
    assert scene.server.done()[0] == "POST configmaps"
    (body,) = scene.server.bodies("PATCH")
    assert body["status"].pop("conditions")[0]["type"] == "Waiting"
    assert body["status"] == {"state": "Created", "explanation": message}
    assert "POST pods" not in scene.server.done()


# Changes and deletions


async def test_a_change_may_insist_on_what_was_seen(scene: Scene) -> None:
    await scene.act(
        Patch(CONFIG, {"metadata": {"labels": {"a": "b"}}, "data": {}}, "7"), Patch(CONFIG, {"data": {"x": "y"}})
    )
    first, second = scene.server.bodies("PATCH")
    assert first == {"metadata": {"labels": {"a": "b"}, "resourceVersion": "7"}, "data": {}}
    assert second == {"data": {"x": "y"}}


async def test_a_conflict_ends_the_doing(scene: Scene) -> None:
    scene.server.answers["PATCH pi-config"] = status(409, "Conflict")
    with pytest.raises(errors.Conflict):
        await scene.act(Patch(CONFIG, {}, "7"), a_pod("p"))
    assert scene.server.done() == ["PATCH configmaps/pi-config"]


async def test_only_the_object_that_was_seen_is_deleted(scene: Scene) -> None:
    await scene.act(Delete(Key("v1", "Pod", "p"), "the-uid"), Delete(Key("v1", "Pod", "q"), "u", grace=0))
    first, second = scene.server.bodies("DELETE")
    assert (first["preconditions"], first["propagationPolicy"]) == ({"uid": "the-uid"}, "Background")
    assert "gracePeriodSeconds" not in first
    assert second["gracePeriodSeconds"] == 0


@pytest.mark.parametrize("refusal", [status(404, "NotFound"), status(409, "Conflict")])
async def test_what_is_gone_or_another_one_needs_no_deletion(scene: Scene, refusal: Response) -> None:
    scene.server.answers["DELETE p"] = refusal
    await scene.act(Delete(Key("v1", "Pod", "p"), "u"), Delete(Key("v1", "Pod", "q"), "u"))
    assert scene.server.done() == ["DELETE pods/p", "DELETE pods/q"]


async def test_a_status_instead_of_the_object_is_not_taken_for_one(scene: Scene) -> None:
    scene.server.answers["DELETE p"] = answer({"kind": "Status", "status": "Success"})
    await scene.act(Delete(Key("v1", "Pod", "p"), "u"))
    assert len(scene.caches.pods) == 0


async def test_the_job_itself_may_be_deleted(scene: Scene) -> None:
    await scene.act(Delete(Key("kubeflow.org/v1", "MPIJob", NAME), UID))
    assert scene.server.requests[0].path == "/apis/kubeflow.org/v2beta1/namespaces/ns/mpijobs/pi"


# The status


async def test_a_status_is_written_only_to_the_job_that_was_seen(scene: Scene) -> None:
    await scene.act(StatusPatch(JobStatus(state="Running")))
    (body,) = scene.server.bodies("PATCH")
    assert body == {"metadata": {"resourceVersion": "41"}, "status": {"state": "Running"}}


async def test_when_it_is_refused_nobody_hears_of_what_it_said(scene: Scene) -> None:
    scene.server.answers["PATCH status"] = status(409, "Conflict")
    with pytest.raises(errors.Conflict):
        await scene.act(StatusPatch(JobStatus(state="Running")), Event("Normal", "MPIJobRunning", "it runs"))
    assert scene.recorder.said == []


def a_condition(status: str) -> Condition:
    return Condition(type="Running", status=status, reason="R", last_update_time=NOON)


@pytest.mark.parametrize(
    ("old", "new", "patch"),
    [
        (JobStatus(state="Running"), JobStatus(state="Running"), {}),
        (JobStatus(state="Running", workers="1/2"), JobStatus(state="Running", workers="2/2"), {"workers": "2/2"}),
        (JobStatus(replicas=2, min_replicas=1), JobStatus(), {"replicas": None, "minReplicas": None}),
        (JobStatus(restarts={"Worker": 1}), JobStatus(), {"restarts": None}),
        (
            JobStatus(replica_statuses={"Worker": ReplicaStatus(active=2), "Launcher": ReplicaStatus()}),
            JobStatus(replica_statuses={"Worker": ReplicaStatus(failed=1)}),
            {"replicaStatuses": {"Worker": {"active": None, "failed": 1}, "Launcher": None}},
        ),
        (
            JobStatus(replica_statuses={"Worker": ReplicaStatus(active=2)}),
            JobStatus(replica_statuses={"Worker": ReplicaStatus()}),
            {"replicaStatuses": {"Worker": {"active": None}}},
        ),
        (JobStatus(), JobStatus(replica_statuses={"Worker": ReplicaStatus()}), {"replicaStatuses": {"Worker": {}}}),
        (JobStatus(), JobStatus(start_time=NOON), {"startTime": "2026-11-16T12:00:00Z"}),
        (JobStatus(start_time=NOON), JobStatus(start_time=NOON.replace(microsecond=0)), {}),
    ],
)
def test_a_status_is_patched_where_it_differs(old: JobStatus, new: JobStatus, patch: Obj) -> None:
    assert status_patch(old, new) == patch


def test_conditions_are_written_whole_and_in_whole_seconds() -> None:
    patch = status_patch(JobStatus(conditions=(a_condition("False"),)), JobStatus(conditions=(a_condition("True"),)))
    (condition,) = patch["conditions"]
    assert condition["status"] == "True"
    assert condition["lastUpdateTime"] == "2026-11-16T12:00:00Z"
