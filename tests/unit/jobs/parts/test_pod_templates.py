# SPDX-License-Identifier: Apache-2.0
"""A pod from a template, with what any kind adds to it."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from tests.unit.jobs.builders import a_toy

from springtide.api.job import Job, Role
from springtide.api.kinds.replicas import RestartPolicy
from springtide.jobs.objects import owner
from springtide.jobs.observed import Settings
from springtide.jobs.parts import pod_templates as templates

TEMPLATE = {
    "metadata": {"name": "mine", "labels": {"mine": "1", "ours": "0"}, "annotations": {"mine": "1"}},
    "spec": {"containers": [{"name": "main", "image": "x", "env": [{"name": "A", "value": "1"}]}, {"name": "sidecar"}]},
}


def a_role() -> Role:
    return Role("Worker", 1, RestartPolicy.NEVER, deepcopy(TEMPLATE))


def a_job() -> Job[Any]:
    return a_toy().observe().job


def test_what_is_added_to_the_first_container_leaves_the_template_alone() -> None:
    role = a_role()
    spec = templates.spec_of(role)
    templates.add(spec, "env", templates.variables({"RANK": "3"}))
    templates.mount(spec, {"name": "data", "emptyDir": {}}, "/data")
    first, sidecar = spec["containers"]
    assert templates.given(spec) == {"A", "RANK"}
    assert first["volumeMounts"] == [{"name": "data", "mountPath": "/data"}]
    assert spec["volumes"] == [{"name": "data", "emptyDir": {}}]
    assert (first["terminationMessagePolicy"], sidecar) == ("FallbackToLogsOnError", {"name": "sidecar"})
    assert role.template == TEMPLATE


def test_a_pod_has_the_metadata_of_its_template_under_a_name_of_ours() -> None:
    job, role = a_job(), a_role()
    pod = templates.pod(job, role, "toy-worker-0", {"ours": "1"}, templates.spec_of(role), Settings())
    assert pod["metadata"] == {
        "name": "toy-worker-0",
        "namespace": "ns",
        "labels": {"mine": "1", "ours": "1"},
        "annotations": {"sidecar.istio.io/inject": "false", "mine": "1"},
        "ownerReferences": [owner(job)],
    }
    assert "schedulerName" not in pod["spec"]


def test_a_pod_joins_the_jobs_gang() -> None:
    role = a_role()
    settings = Settings(gang_scheduler="volcano")
    pod = templates.pod(a_job(), role, "toy-worker-0", {}, templates.spec_of(role), settings)
    assert pod["spec"]["schedulerName"] == "volcano"
    assert pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"] == "toy"


@pytest.mark.parametrize("policy", RestartPolicy)
def test_a_pod_that_is_tried_again_by_its_exit_code_never_starts_again_by_itself(policy: RestartPolicy) -> None:
    expected = "Never" if policy is RestartPolicy.EXIT_CODE else policy.value
    assert templates.restart_policy(policy) == expected


@pytest.mark.parametrize("place", [0, 1])
def test_quotas_and_security_levels_admit_an_init_container_with_the_container_that_trains(place: int) -> None:
    amounts = {"cpu": "4", "memory": "8Gi"}
    strict = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    trains = {
        "name": "trains",
        "image": "train",
        "imagePullPolicy": "Always",
        "resources": {"limits": {**amounts, "nvidia.com/gpu": 1}, "requests": amounts},
        "securityContext": strict,
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    containers: list[dict[str, Any]] = [{"name": "sidecar", "image": "proxy"}]
    containers.insert(place, trains)
    assert templates.alike({"containers": containers}, "trains") == {
        "image": "train",
        "imagePullPolicy": "Always",
        "securityContext": strict,
        "resources": {"limits": amounts, "requests": amounts},
    }


def test_it_has_no_resources_where_the_container_that_trains_has_none() -> None:
    trains = {"image": "train", "resources": {"limits": {"nvidia.com/gpu": 1}}}
    assert templates.alike({"containers": [trains]}) == {"image": "train"}
