# SPDX-License-Identifier: Apache-2.0
"""Questions of an API server, and what it is answered."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.api.builders import a_pytorchjob, a_scale_in, a_scale_out, a_tfjob, a_trainingjob, an_mpijob
from tests.unit.jobs import toy

from springtide.api.kinds.elastic_policy import MOST_WORKERS
from springtide.api.kinds.scalers import SCALE_IN, SCALE_OUT
from springtide.controllers.webhook.admission import Judges, NoReview, answered
from springtide.controllers.webhook.webhook import judges_of
from springtide.jobs.registry import SERVED
from springtide.kube.resources import Key, Obj, Resource

JUDGES = judges_of(SERVED, MOST_WORKERS)
BOUNDS: dict[str, Any] = {"elasticPolicy": {"minReplicas": 1, "maxReplicas": 3}}
REPLICAS = "spec.mpiReplicaSpecs[Worker].replicas"
OUTSIDE = "Invalid value: 9: must be between 1 and 3, as {0} says; ask for 3 or change {0} first".format(
    "spec.elasticPolicy"
)


async def asked(
    obj: Obj,
    old: Obj | None = None,
    *,
    stored: Obj | None = None,
    sub: str = "",
    resource: str = "mpijobs",
    judges: Judges = JUDGES,
) -> Any:
    plural = resource
    request = {
        "uid": "u",
        "kind": {"group": "kubeflow.org", "version": "v1", "kind": "MPIJob"},
        "resource": {"group": "kubeflow.org", "version": "v1", "resource": resource},
        "name": "pi",
        "namespace": "ns",
        "operation": "UPDATE" if old else "CREATE",
        "object": obj,
        "oldObject": old,
    } | ({"subResource": sub} if sub else {})

    async def find(resource: Resource, key: Key) -> Obj | None:
        assert (resource.version, resource.plural, key) == ("v1", plural, Key("ns", "pi"))
        return stored

    body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
    review = json.loads(await answered(body.encode(), judges, find))
    assert (review["apiVersion"], review["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    assert review["response"].pop("uid") == "u"
    return review["response"]


def scale(replicas: int) -> Obj:
    return {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": replicas}}


async def test_a_good_job_comes_in() -> None:
    assert await asked(an_mpijob()) == {"allowed": True}


async def test_a_wrong_one_is_refused_in_the_api_servers_own_words() -> None:
    response = await asked(an_mpijob(workers=9, **BOUNDS))
    assert response == {
        "allowed": False,
        "status": {
            "code": 422,
            "reason": "Invalid",
            "message": f'MPIJob.kubeflow.org "pi" is invalid: {REPLICAS}: {OUTSIDE}',
            "details": {
                "name": "pi",
                "group": "kubeflow.org",
                "kind": "MPIJob",
                "causes": [{"reason": "FieldValueInvalid", "field": REPLICAS, "message": OUTSIDE}],
            },
        },
    }


async def test_more_workers_than_the_operator_runs_are_refused_in_a_job_and_in_its_scale() -> None:
    huge = 2**31 - 1
    said = f"Invalid value: {huge}: must be at most 100000: the operator runs no larger jobs"
    for response in (
        await asked(an_mpijob(workers=huge)),
        await asked(scale(huge), scale(2), stored=an_mpijob(), sub="scale"),
    ):
        assert not response["allowed"]
        (cause,) = response["status"]["details"]["causes"]
        assert cause["message"].startswith(said)
        assert cause["message"].endswith("ask for fewer workers, or raise its --max-workers-per-job")


async def test_a_job_that_was_stored_with_more_can_be_changed_otherwise() -> None:
    old, new = an_mpijob(workers=2**31 - 1), an_mpijob(workers=2**31 - 1, slotsPerWorker=2)
    response = await asked(new, old)
    assert response["allowed"]
    assert "must be at most 100000" in response["warnings"][0]


async def test_of_several_mistakes_all_are_told() -> None:
    response = await asked(an_mpijob(slotsPerWorker=0, cleanPodPolicy="Some"))
    fields = [cause["field"] for cause in response["status"]["details"]["causes"]]
    assert fields == ["spec.slotsPerWorker", "spec.cleanPodPolicy"]
    assert response["status"]["message"].startswith('MPIJob.kubeflow.org "pi" is invalid: [spec.slotsPerWorker: ')


async def test_an_old_mistake_is_a_warning_to_whoever_changes_something_else() -> None:
    old, new = an_mpijob(workers=9, **BOUNDS), an_mpijob(workers=9, slotsPerWorker=2, **BOUNDS)
    assert await asked(new, old) == {"allowed": True, "warnings": [f"still {REPLICAS}: {OUTSIDE}"]}


@pytest.mark.parametrize(("name", "default"), [("drain", 30), ("settle", 30), ("start", 60)])
@pytest.mark.parametrize("value", ["soon", "", "-1", "1.5", "10s", "x" * 300])
async def test_a_waiting_time_that_is_none_is_told_to_who_sets_it(name: str, default: int, value: str) -> None:
    odd, annotation = an_mpijob(), f"springtide.dev/{name}-seconds"
    odd["metadata"]["annotations"] = {annotation: value}
    response = await asked(odd)
    (warning,) = response["warnings"]
    said = f"metadata.annotations[{annotation}]: no whole number of seconds, so the default of {default} is taken: "
    assert response["allowed"]
    assert warning == f'{said}"{value}"'[:250]
    assert await asked(odd, an_mpijob()) == response
    assert await asked(odd, odd) == {"allowed": True}


async def test_a_waiting_time_that_is_one_goes_without_saying() -> None:
    job = an_mpijob()
    job["metadata"]["annotations"] = {"springtide.dev/drain-seconds": "0", "springtide.dev/start-seconds": "86400"}
    assert await asked(job) == {"allowed": True}


async def test_scale_is_judged_by_the_job_behind_it() -> None:
    job = an_mpijob(**BOUNDS)
    refused = await asked(scale(9), scale(2), stored=job, sub="scale")
    assert refused["status"]["details"]["causes"][0]["message"] == OUTSIDE
    assert await asked(scale(3), scale(2), stored=job, sub="scale") == {"allowed": True}
    assert job == an_mpijob(**BOUNDS)


async def test_a_scale_without_a_number_asks_for_none() -> None:
    nothing = {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {}}
    refused = await asked(nothing, scale(2), stored=an_mpijob(), sub="scale")
    assert refused["status"]["details"]["causes"][0]["field"] == REPLICAS


async def test_a_scale_of_a_job_that_has_gone_is_left_to_the_api_server() -> None:
    assert await asked(scale(9), scale(2), stored=None, sub="scale") == {"allowed": True}


async def test_what_nobody_here_judges_comes_in() -> None:
    assert await asked({}, resource="pods") == {"allowed": True}


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"request": {"uid": 1}}', b"\xff"])
async def test_what_is_no_review_is_said_to_be_none(body: bytes) -> None:
    async def find(resource: Resource, key: Key) -> Obj | None:
        raise AssertionError

    with pytest.raises(NoReview, match="no AdmissionReview"):
        await answered(body, JUDGES, find)


async def test_a_size_that_does_not_count_yet_is_a_warning_of_scale_and_of_the_job_itself() -> None:
    running = {**an_mpijob(workers=3), "status": {"replicaStatuses": {"Launcher": {"active": 1}}}}
    smaller = {**an_mpijob(workers=2), "status": running["status"]}
    by_scale = await asked(scale(2), scale(3), stored=running, sub="scale")
    by_edit = await asked(smaller, running)
    assert by_scale == by_edit
    assert by_scale["allowed"]
    assert [each[:43] for each in by_scale["warnings"]] == ["mpirun is not elastic: its run continues un"]


@pytest.mark.parametrize("ended", ["Succeeded", "Failed"])
async def test_a_finished_job_cannot_be_resized_and_what_to_do_is_said(ended: str) -> None:
    over = {**an_mpijob(workers=2), "status": {"conditions": [{"type": ended, "status": "True"}]}}
    larger = {**an_mpijob(workers=3), "status": over["status"]}
    by_scale = await asked(scale(3), scale(2), stored=over, sub="scale")
    by_edit = await asked(larger, over)
    assert by_scale == by_edit
    assert not by_scale["allowed"]
    (cause,) = by_scale["status"]["details"]["causes"]
    assert cause == {
        "reason": "FieldValueForbidden",
        "field": REPLICAS,
        "message": f"Forbidden: the job has finished ({ended}) and cannot be resized; delete it and create it again, "
        "or create it under another name (pi keeps its logs and status)",
    }


async def test_a_finished_job_can_be_changed_otherwise_and_scaled_to_the_size_it_has() -> None:
    over = {**an_mpijob(workers=2), "status": {"conditions": [{"type": "Succeeded", "status": "True"}]}}
    kept = {**over, "spec": {**over["spec"], "runPolicy": {"ttlSecondsAfterFinished": 5}}}
    assert await asked(kept, over) == {"allowed": True}
    assert await asked(scale(2), scale(2), stored=over, sub="scale") == {"allowed": True}


async def test_a_job_that_is_wrong_all_the_same_is_not_read_any_further() -> None:
    old = {**an_mpijob(workers=9, **BOUNDS), "status": {"replicaStatuses": {"Launcher": {"active": 1}}}}
    new = {**old, "spec": {**old["spec"], "runPolicy": {"backoffLimit": 2}}}
    assert [each[:5] for each in (await asked(new, old))["warnings"]] == ["still"]


async def test_a_job_that_keeps_its_size_is_refused_another_by_scale_and_by_edit_alike() -> None:
    status = {"status": {"startTime": "2026-01-02T03:04:05Z"}}
    running, larger = a_tfjob({"Ps": 1, "Worker": 2}) | status, a_tfjob({"Ps": 1, "Worker": 3}) | status
    by_scale = await asked(scale(3), scale(2), stored=running, sub="scale", resource="tfjobs")
    by_edit = await asked(larger, running, resource="tfjobs")
    assert by_scale == by_edit
    (cause,) = by_edit["status"]["details"]["causes"]
    assert cause["field"] == "spec.tfReplicaSpecs[Worker].replicas"
    assert cause["message"].startswith("Forbidden: a TFJob without spec.enableDynamicWorker keeps its size while it ")


async def test_an_elastic_one_is_resized_within_its_bounds() -> None:
    status = {"status": {"startTime": "2026-01-02T03:04:05Z"}}
    running = a_pytorchjob({"Worker": 2}, elasticPolicy={"minReplicas": 1, "maxReplicas": 3}) | status
    resize: dict[str, Any] = {"stored": running, "sub": "scale", "resource": "pytorchjobs"}
    assert await asked(scale(3), scale(2), **resize) == {"allowed": True}
    assert not (await asked(scale(4), scale(2), **resize))["allowed"]


async def test_a_running_job_can_be_deleted_whatever_its_size() -> None:
    running = a_tfjob({"Worker": 2}) | {"status": {"startTime": "2026-01-02T03:04:05Z"}}
    going = a_tfjob({"Worker": 3}) | {"status": running["status"]}
    going["metadata"] = {**going["metadata"], "deletionTimestamp": "2026-01-02T03:05:05Z"}
    assert await asked(going, running, resource="tfjobs") == {"allowed": True}


async def test_who_can_resize_a_job_only_by_edit_is_told_when_it_is_created() -> None:
    elastic: dict[str, Any] = {"elasticPolicy": {"minReplicas": 1, "maxReplicas": 3}}
    job = a_pytorchjob({"worker": 2}, **elastic)
    assert await asked(job, resource="pytorchjobs") == {
        "allowed": True,
        "warnings": [
            "spec.pytorchReplicaSpecs[worker]: kubectl scale and autoscalers need the spelling Worker; with worker the "
            "job can be resized by kubectl edit and patch only"
        ],
    }
    for silent in (a_pytorchjob({"Worker": 2}, **elastic), a_pytorchjob({"worker": 2})):
        assert await asked(silent, resource="pytorchjobs") == {"allowed": True}
    assert await asked({**job, "spec": {**job["spec"], "nprocPerNode": "2"}}, job, resource="pytorchjobs") == {
        "allowed": True
    }


async def test_a_finished_job_cannot_be_resized_however_its_workers_are_spelled() -> None:
    over = a_tfjob({"worker": 2}) | {"status": {"conditions": [{"type": "Succeeded", "status": "True"}]}}
    larger = a_tfjob({"worker": 3}) | {"status": over["status"]}
    (cause,) = (await asked(larger, over, resource="tfjobs"))["status"]["details"]["causes"]
    assert cause["field"] == "spec.tfReplicaSpecs[worker].replicas"


SCALED = replace(toy.SERVED, definition=replace(toy.RESOURCE, scalers=(SCALE_OUT, SCALE_IN)))
"""A kind of jobs that are resized by scalers."""
OF_SCALERS = judges_of((SCALED,), MOST_WORKERS)


async def test_scalers_are_judged_beside_their_jobs() -> None:
    assert list(OF_SCALERS) == ["toyjobs", "scaleouts", "scaleins"]
    assert await asked(a_scale_out(), resource="scaleouts", judges=OF_SCALERS) == {"allowed": True}
    response = await asked(a_scale_in({"podNames": ["a", "a"]}), resource="scaleins", judges=OF_SCALERS)
    duplicate = 'spec.toDelete.podNames[1]: Duplicate value: "a"'
    assert response["status"]["message"] == f'ScaleIn.kai.alibabacloud.com "pi" is invalid: {duplicate}'


async def test_a_scaler_that_waits_can_be_changed_for_the_better() -> None:
    changed = await asked(a_scale_out(2), a_scale_out(), resource="scaleouts", judges=OF_SCALERS)
    assert changed == {"allowed": True}
    worse = await asked(a_scale_out(0), a_scale_out(), resource="scaleouts", judges=OF_SCALERS)
    assert [cause["field"] for cause in worse["status"]["details"]["causes"]] == ["spec.toAdd.count"]


@pytest.mark.parametrize("count", [0, 1, 2])
async def test_a_scaler_whose_turn_has_come_keeps_its_spec_and_takes_new_labels(count: int) -> None:
    begun = a_scale_out(count) | {"status": {"phase": "Scaling"}}
    larger = a_scale_out(3) | {"status": {"phase": "Scaling"}}
    refused = await asked(larger, begun, resource="scaleouts", judges=OF_SCALERS)
    (cause,) = refused["status"]["details"]["causes"]
    assert (cause["reason"], cause["field"]) == ("FieldValueForbidden", "spec")
    assert cause["message"].startswith("Forbidden: is immutable in phase Scaling; ")
    labelled = begun | {"metadata": {**begun["metadata"], "labels": {"a": "b"}}}
    assert await asked(labelled, begun, resource="scaleouts", judges=OF_SCALERS) == {"allowed": True}


async def test_a_job_is_not_resized_beside_a_scaler_neither_by_scale_nor_by_edit() -> None:
    status = {"status": {"currentScaler": "ScaleIn:ns/shrink", "workers": "1/1", "startTime": "2026-01-02T03:04:05Z"}}
    running, larger, target = (a_trainingjob(name="pi", workers=size) | status for size in (2, 3, 1))
    by_scale = await asked(scale(3), scale(2), stored=running, sub="scale", resource="trainingjobs")
    by_edit = await asked(larger, running, resource="trainingjobs")
    assert by_scale["status"]["details"]["causes"] == by_edit["status"]["details"]["causes"]
    assert by_edit["status"]["details"]["causes"][0]["message"].startswith("Forbidden: ScaleIn shrink is resizing the ")
    assert await asked(target, running, resource="trainingjobs") == {"allowed": True}


async def test_an_edit_of_the_size_of_a_job_with_scalers_is_told_in_numbers_and_scale_is_not() -> None:
    status = {"status": {"startTime": "2026-01-02T03:04:05Z"}}
    running, smaller = (a_trainingjob(name="pi", workers=size) | status for size in (3, 2))
    told = await asked(smaller, running, resource="trainingjobs")
    assert told["warnings"][0] == "3 → 2 workers: 1 will be removed; to keep the size, write replicas: 3"
    scaled = await asked(scale(2), scale(3), stored=running, sub="scale", resource="trainingjobs")
    assert "will be removed" not in str(scaled)
