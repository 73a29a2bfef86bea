# SPDX-License-Identifier: Apache-2.0
"""Typed kinds as they are read."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from springtide.api.kinds.attach_mode import AttachMode
from springtide.api.kinds.conditions import Condition, condition, finished, holds
from springtide.api.kinds.fields import Wire
from springtide.api.kinds.mpi_modes import MODES, mode_of
from springtide.api.kinds.mpijob import MPIJob
from springtide.api.kinds.registry import DEFINED, RESOURCES
from springtide.api.kinds.scalers import ScalerStatus
from springtide.api.kinds.status import JobStatus, ReplicaStatus
from springtide.api.kinds.templates import Container, containers
from springtide.api.kinds.trainingjob import TrainingJobStatus

CONDITIONS = (
    Condition(type="Created", status="True"),
    Condition(type="Running", status="False", reason="MPIJobSuspended"),
)


def test_a_condition_is_found_by_its_type_and_holds_when_it_is_true() -> None:
    assert condition(CONDITIONS, "Running") == CONDITIONS[1]
    assert condition(CONDITIONS, "Failed") is None
    assert [holds(CONDITIONS, type_) for type_ in ("Created", "Running", "Failed")] == [True, False, False]


@pytest.mark.parametrize(
    ("type_", "status", "ended"),
    [("Succeeded", "True", True), ("Failed", "True", True), ("Failed", "False", False), ("Suspended", "True", False)],
)
def test_a_job_has_finished_when_it_succeeded_or_failed(type_: str, status: str, ended: bool) -> None:
    assert finished((*CONDITIONS, Condition(type=type_, status=status))) is ended


def test_a_status_is_read_and_written_as_upstream_does() -> None:
    wire: dict[str, Any] = {
        "conditions": [{"type": "Running", "status": "True", "lastUpdateTime": "2026-11-16T04:30:00Z"}],
        "replicaStatuses": {"Launcher": {"active": 1}, "Worker": {}},
        "startTime": "2026-11-16T04:30:00Z",
    }
    status = msgspec.convert(wire, JobStatus)
    at = datetime(2026, 11, 16, 4, 30, tzinfo=UTC)
    assert status == JobStatus(
        conditions=(Condition(type="Running", status="True", last_update_time=at),),
        replica_statuses={"Launcher": ReplicaStatus(active=1), "Worker": ReplicaStatus()},
        start_time=at,
    )
    assert msgspec.json.decode(msgspec.json.encode(status)) == wire


def test_unknown_fields_are_passed_over_and_missing_ones_stand_empty() -> None:
    job = msgspec.convert({"kind": "MPIJob", "spec": {"aFutureField": 1}, "other": 2}, MPIJob)
    assert job == MPIJob(kind="MPIJob")


@pytest.mark.parametrize(
    ("template", "found"),
    [
        ({"spec": {"containers": [{"name": "a", "aFutureField": 1}]}}, (Container(name="a"),)),
        ({"spec": {"containers": None}}, ()),
        ({"spec": {}}, ()),
        ({"spec": None}, ()),
        ({}, ()),
    ],
)
def test_the_containers_of_a_template_are_read_as_far_as_there_are_any(
    template: Any, found: tuple[Container, ...]
) -> None:
    assert containers(template) == found


def test_a_mode_is_that_of_the_marker_or_else_of_the_version() -> None:
    assert mode_of("ssh", "kubeflow.org/v1") is MODES[AttachMode.SSH]
    assert mode_of(None, "kubeflow.org/v1") is MODES[AttachMode.KUBEXEC]
    assert mode_of(None, "kubeflow.org/v2beta1") is MODES[AttachMode.SSH]
    assert mode_of("rsh", "kubeflow.org/v1") is None
    assert mode_of(None, "kubeflow.org/v3") is None


@pytest.mark.parametrize("mode", MODES.values(), ids=lambda mode: mode.attach)
def test_what_a_mode_takes_where_nothing_is_said_it_also_allows(mode: Any) -> None:
    assert set(mode.default_restart.values()) <= set(mode.restart_policies)
    assert MODES[mode.attach] is mode


def test_every_resource_is_stored_in_exactly_one_version() -> None:
    names = [f"{kind}s.kubeflow.org" for kind in ("mpijob", "pytorchjob", "tfjob")]
    of_et = [f"{kind}s.kai.alibabacloud.com" for kind in ("trainingjob", "scaleout", "scalein")]
    assert [resource.crd_name for resource in DEFINED] == [*names, *of_et]
    assert all([version.storage for version in resource.versions].count(True) == 1 for resource in DEFINED)


def test_scalers_are_defined_but_are_no_jobs() -> None:
    assert [resource.kind for resource in DEFINED if resource not in RESOURCES] == ["ScaleOut", "ScaleIn"]


OF_ET_OPERATOR: dict[str, Any] = {
    "phase": "Running",
    "conditions": [
        {
            "type": "Created",
            "status": "True",
            "reason": "TrainingJobCreated",
            "message": "TrainingJob is created.",
            "lastUpdateTime": "2026-11-16T04:30:00Z",
            "lastTransitionTime": "2026-11-16T04:30:00Z",
        }
    ],
    "replicaStatuses": {"Launcher": {"active": 1}, "Worker": {"active": 2, "failed": 1}},
    "startTime": "2026-11-16T04:30:00Z",
    "currentScaler": "ScaleOut:default/grow",
    "restartCount": 0,
}
"""What the statuses of all three kinds have, as et-operator writes them."""


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        (TrainingJobStatus, {"targetWorkers": ["b-worker-0", "b-worker-1"], "currentWorkers": ["b-worker-0"]}),
        (ScalerStatus, {"addPods": ["b-worker-2"]}),
        (ScalerStatus, {"toDeletePods": ["b-worker-2"]}),
    ],
)
def test_a_status_of_et_operator_is_read_and_written_back_whole(kind: type[Wire], more: dict[str, Any]) -> None:
    wire = OF_ET_OPERATOR | more
    assert msgspec.json.decode(msgspec.json.encode(msgspec.convert(wire | {"unknown": [1]}, kind))) == wire


@pytest.mark.parametrize("kind", [TrainingJobStatus, ScalerStatus])
def test_a_restart_count_of_zero_is_written_because_et_operators_definitions_require_one(kind: Any) -> None:
    assert msgspec.json.decode(msgspec.json.encode(kind())) == {}
    assert msgspec.json.decode(msgspec.json.encode(kind(restart_count=0))) == {"restartCount": 0}
    assert msgspec.json.encode(ScalerStatus(replica_statuses={})) == b'{"replicaStatuses":{}}'
