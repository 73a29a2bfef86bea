# SPDX-License-Identifier: Apache-2.0
"""A change is judged by what it brings, not by what was there."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.api.builders import a_trainingjob, an_mpijob

from springtide.api.kinds import trainingjob
from springtide.api.kinds.mpijob import RESOURCE
from springtide.api.validation import updates
from springtide.api.validation.mpijob import admission_errors

BOUNDS: dict[str, Any] = {"elasticPolicy": {"minReplicas": 1, "maxReplicas": 3}}
REPLICAS = "spec.mpiReplicaSpecs[Worker].replicas"


def refused(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    return [error.field for error in updates.judged(admission_errors, old, new).errors]


def test_a_good_change_is_fine() -> None:
    assert updates.judged(admission_errors, an_mpijob(**BOUNDS), an_mpijob(workers=3, **BOUNDS)) == ([], [])


def test_a_change_for_the_worse_is_refused() -> None:
    assert refused(an_mpijob(**BOUNDS), an_mpijob(workers=4, **BOUNDS)) == [REPLICAS]


def test_bounds_that_no_longer_hold_the_size_are_refused() -> None:
    assert refused(an_mpijob(workers=5), an_mpijob(workers=5, **BOUNDS)) == [REPLICAS]


def test_what_was_wrong_before_is_told_but_not_held_against_another_change() -> None:
    old, new = an_mpijob(workers=5, **BOUNDS), an_mpijob(workers=5, slotsPerWorker=2, **BOUNDS)
    verdict = updates.judged(admission_errors, old, new)
    assert verdict.errors == []
    assert [error.field for error in verdict.former] == [REPLICAS]


def test_what_was_wrong_before_may_not_be_made_wrong_in_another_way() -> None:
    assert refused(an_mpijob(workers=5, **BOUNDS), an_mpijob(workers=6, **BOUNDS)) == [REPLICAS]


def test_finalizers_labels_and_status_are_nobodys_business() -> None:
    old = an_mpijob(workers=5, **BOUNDS)
    new = {**old, "metadata": {**old["metadata"], "finalizers": [], "labels": {"a": "b"}}, "status": {"state": "x"}}
    assert updates.judged(admission_errors, old, new) == ((), ())


def test_a_job_that_is_being_deleted_may_be_anything() -> None:
    new = an_mpijob(mpiReplicaSpecs=None)
    new["metadata"]["deletionTimestamp"] = "2026-11-16T08:00:00Z"
    assert refused(an_mpijob(), new) == []


def test_its_manager_neither_comes_nor_goes_nor_changes() -> None:
    ours, other, nobody = (
        an_mpijob(runPolicy={"managedBy": "kubeflow.org/training-operator"}),
        an_mpijob(runPolicy={"managedBy": "kueue.x-k8s.io/multikueue"}),
        an_mpijob(),
    )
    for old, new in ((ours, other), (ours, nobody), (nobody, other)):
        verdict = updates.judged(admission_errors, old, new)
        assert [error.field for error in verdict.errors] == ["spec.runPolicy.managedBy"]
        assert verdict.errors[0].message.endswith("field is immutable")


@pytest.mark.parametrize("status", [None, "odd", {}, {"conditions": None}, {"conditions": ["odd", {"type": "Failed"}]}])
def test_a_job_that_has_not_finished_can_be_resized_whatever_its_status_looks_like(status: Any) -> None:
    assert RESOURCE.scale is not None
    old, new = ({**an_mpijob(workers=workers), "status": status} for workers in (2, 3))
    assert updates.resized_when_finished(RESOURCE.scale, old, new) == []


SCALE = trainingjob.RESOURCE.scale
SIZE = "spec.etReplicaSpecs.worker.replicas"
STARTED = {"startTime": "2026-11-16T08:00:00Z"}
SCALING = {**STARTED, "currentScaler": "ScaleOut:ns/grow", "workers": "2/3"}


def resized(size: int, status: Any) -> tuple[list[str], list[str]]:
    """Errors and warnings for a change from two workers to this size."""
    assert SCALE is not None
    old, new = ({**a_trainingjob(workers=workers), "status": status} for workers in (2, size))
    return [str(each) for each in updates.resized_while_scaling(SCALE, old, new)], updates.resizes(SCALE, old, new)


def test_a_job_that_a_scaler_resizes_can_only_get_the_size_of_the_scaler() -> None:
    assert resized(4, SCALING) == (
        [
            f"{SIZE}: Forbidden: ScaleOut grow is resizing the job; wait until it has ended, or cancel it: kubectl "
            "delete scaleout grow"
        ],
        [],
    )
    assert resized(3, SCALING) == ([], [])
    assert resized(2, SCALING) == ([], [])


def test_the_resize_of_a_running_job_is_told_in_numbers() -> None:
    assert resized(1, STARTED) == ([], ["2 → 1 worker: 1 will be removed; to keep the size, write replicas: 2"])
    assert resized(5, STARTED) == ([], ["2 → 5 workers: 3 will be added; to keep the size, write replicas: 2"])


@pytest.mark.parametrize("status", [None, "odd", {}, {"currentScaler": None}, {"currentScaler": ["odd"]}])
def test_a_job_that_has_not_started_is_resized_in_silence(status: Any) -> None:
    assert resized(3, status) == ([], [])


def test_a_job_without_target_workers_is_not_resized_while_a_scaler_is_in_progress() -> None:
    assert len(resized(3, {"currentScaler": "ScaleIn:ns/shrink"})[0]) == 1
