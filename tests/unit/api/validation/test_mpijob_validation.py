# SPDX-License-Identifier: Apache-2.0
"""What is said of an MPIJob that cannot be meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests import documents
from tests.unit.api.any_shape import Changes, change, changes
from tests.unit.api.builders import a_template, an_mpijob

from springtide.api.defaults.mpijob import defaulted
from springtide.api.field_errors import FieldError
from springtide.api.validation import mpijob, shared

VERSIONS = ("v1", "v2beta1")
ROLES = "spec.mpiReplicaSpecs"
LABEL = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)


def said(raw: dict[str, Any]) -> list[str]:
    return [str(error) for error in mpijob.errors(raw)]


def no_containers(role: str) -> str:
    return f"{ROLES}[{role}].template.spec.containers: Required value: must define at least one container"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_bare_job_is_fine(version: str) -> None:
    assert said(an_mpijob(version)) == []


@pytest.mark.parametrize("path", documents.MPIJOBS, ids=lambda path: path.stem)
def test_the_documents_jobs_are_fine(path: Path) -> None:
    assert mpijob.admission_errors(yaml.safe_load(path.read_text())) == []


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("wrong", "errors"),
    {
        "no roles": ({"mpiReplicaSpecs": None}, [f"{ROLES}: Required value: must have replica specs"]),
        "no launcher": (
            {"mpiReplicaSpecs": {}},
            [f"{ROLES}[Launcher]: Required value: must have Launcher replica spec"],
        ),
        "two launchers": ({"launcher": {"replicas": 2}}, [f"{ROLES}[Launcher].replicas: Invalid value: 2: must be 1"]),
        "no workers": (
            {"workers": 0},
            [f"{ROLES}[Worker].replicas: Invalid value: 0: must be greater than or equal to 1"],
        ),
        "empty roles": (
            {"launcher": {"template": None}, "worker": {"template": {"spec": {"containers": []}}}},
            [no_containers("Launcher"), no_containers("Worker")],
        ),
        "a template without spec": ({"worker": {"template": {"spec": None}}}, [no_containers("Worker")]),
        "containers that are none": (
            {"worker": {"template": {"spec": {"containers": [1]}}}},
            [f'{ROLES}[Worker].template.spec.containers[0]: Invalid value: "integer": must be of type object'],
        ),
        "a number among the arguments": (
            {"launcher": {"template": a_template("horovodrun", args=["-np", 2])}},
            [
                f"{ROLES}[Launcher].template.spec.containers[0].args[1]: "
                'Invalid value: "integer": must be of type string'
            ],
        ),
        "one container in place of a list": (
            {"worker": {"template": {"spec": {"containers": "sshd"}}}},
            [f'{ROLES}[Worker].template.spec.containers: Invalid value: "string": must be of type array'],
        ),
        "containers without name and image": (
            {"worker": {"template": {"spec": {"containers": [{"name": "a"}, {"image": "b"}]}}}},
            [
                f"{ROLES}[Worker].template.spec.containers[0].image: Required value",
                f"{ROLES}[Worker].template.spec.containers[1].name: Required value",
            ],
        ),
        "negative slots": (
            {"slotsPerWorker": -1},
            ["spec.slotsPerWorker: Invalid value: -1: must be greater than or equal to {min_slots}"],
        ),
        "no mount path": (
            {"sshAuthMountPath": ""},
            ["spec.sshAuthMountPath: Required value: must have a mount path for SSH credentials"],
        ),
        "an unknown MPI": (
            {"mpiImplementation": "LAM"},
            [
                'spec.mpiImplementation: Unsupported value: "LAM": supported values: "Intel", "MPICH", "OpenMPI"',
            ],
        ),
        "an unknown creation policy": (
            {"launcherCreationPolicy": "Later"},
            [
                'spec.launcherCreationPolicy: Unsupported value: "Later": '
                'supported values: "AtStartup", "WaitForWorkersReady"'
            ],
        ),
        "unknown clean pod policies": (
            {"cleanPodPolicy": "Some", "runPolicy": {"cleanPodPolicy": "Most"}},
            [
                'spec.cleanPodPolicy: Unsupported value: "Some": supported values: "All", "None", "Running"',
                'spec.runPolicy.cleanPodPolicy: Unsupported value: "Most": supported values: "All", "None", "Running"',
            ],
        ),
        "negative limits": (
            {"runPolicy": {"ttlSecondsAfterFinished": -1, "activeDeadlineSeconds": -2, "backoffLimit": -3}},
            [
                "spec.runPolicy.ttlSecondsAfterFinished: Invalid value: -1: must be greater than or equal to 0",
                "spec.runPolicy.activeDeadlineSeconds: Invalid value: -2: must be greater than or equal to 0",
                "spec.runPolicy.backoffLimit: Invalid value: -3: must be greater than or equal to 0",
            ],
        ),
        "an unknown manager": (
            {"runPolicy": {"managedBy": "me"}},
            [
                'spec.runPolicy.managedBy: Unsupported value: "me": '
                'supported values: "{manager}", "kueue.x-k8s.io/multikueue"'
            ],
        ),
        "a group that cannot be": (
            {
                "runPolicy": {
                    "schedulingPolicy": {
                        "minAvailable": -1,
                        "minResources": {"cpu": 2, "memory": "2Gi", "gpu": "two"},
                        "scheduleTimeoutSeconds": -5,
                    }
                }
            },
            [
                "spec.runPolicy.schedulingPolicy.minAvailable: Invalid value: -1: must be greater than or equal to 0",
                'spec.runPolicy.schedulingPolicy.minResources[gpu]: Invalid value: "two": quantities must match the '
                "regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
                "spec.runPolicy.schedulingPolicy.scheduleTimeoutSeconds: Invalid value: -5: "
                "must be greater than or equal to 0",
            ],
        ),
        "bounds below one": (
            {"elasticPolicy": {"minReplicas": 0, "maxReplicas": -1}},
            [
                "spec.elasticPolicy.minReplicas: Invalid value: 0: must be greater than or equal to 1",
                "spec.elasticPolicy.maxReplicas: Invalid value: -1: must be greater than or equal to 1",
                "spec.elasticPolicy.minReplicas: Invalid value: 0: must not be more than maxReplicas",
            ],
        ),
        "an unknown mode": (
            {"launcherAttachMode": "rsh"},
            ['spec.launcherAttachMode: Unsupported value: "rsh": supported values: "kubexec", "ssh"'],
        ),
        "a field of another type": (
            {"slotsPerWorker": "two"},
            ['spec.slotsPerWorker: Invalid value: "string": must be of type integer'],
        ),
        "a role of another type": (
            {"worker": {"template": []}},
            ['spec.mpiReplicaSpecs.Worker.template: Invalid value: "array": must be of type object'],
        ),
    }.values(),
    ids=str,
)
def test_both_versions_refuse(version: str, wrong: dict[str, Any], errors: list[str]) -> None:
    own = {
        "v1": {"min_slots": "1", "manager": "kubeflow.org/training-operator"},
        "v2beta1": {"min_slots": "0", "manager": "kubeflow.org/mpi-operator"},
    }
    wanted = errors
    for word, value in own[version].items():
        wanted = [error.replace(f"{{{word}}}", value) for error in wanted]
    assert said(an_mpijob(version, **wrong)) == wanted


@pytest.mark.parametrize(
    ("role", "policy"), [("launcher", "Always"), ("launcher", "ExitCode"), ("worker", "Always"), ("worker", "ExitCode")]
)
def test_some_restart_policies_belong_to_v1(role: str, policy: str) -> None:
    wrong: dict[str, Any] = {role: {"restartPolicy": policy}}
    assert said(an_mpijob("v1", **wrong)) == []
    assert said(an_mpijob("v2beta1", **wrong)) == [
        f'{ROLES}[{role.title()}].restartPolicy: Unsupported value: "{policy}": supported values: "Never", "OnFailure"'
    ]


def test_an_unknown_restart_policy_belongs_to_nobody() -> None:
    assert said(an_mpijob(worker={"restartPolicy": "Sometimes"})) == [
        f'{ROLES}[Worker].restartPolicy: Unsupported value: "Sometimes": '
        'supported values: "Always", "ExitCode", "Never", "OnFailure"'
    ]


def test_a_job_without_slots_belongs_to_v2beta1() -> None:
    assert said(an_mpijob("v2beta1", slotsPerWorker=0)) == []
    assert said(an_mpijob("v1", slotsPerWorker=0)) == [
        "spec.slotsPerWorker: Invalid value: 0: must be greater than or equal to 1"
    ]


def test_workers_without_a_number_are_none_in_v2beta1_and_a_number_that_is_missing_in_v1() -> None:
    field = f"{ROLES}[Worker].replicas"
    assert said(an_mpijob("v2beta1", workers=None)) == [
        f"{field}: Invalid value: 0: must be greater than or equal to 1"
    ]
    assert said(an_mpijob("v1", workers=None)) == [f"{field}: Required value: must say how many workers the job has"]


NAMES = {
    "volumes": (("mpi-job-config", "mpi-job-kubectl", "ssh-auth"), "a volume"),
    "initContainers": (("wait-for-hosts", "kubectl-delivery"), "an init container"),
}


@pytest.mark.parametrize(
    ("version", "role", "taken"),
    [
        ("v1", "Launcher", {"mpi-job-config", "mpi-job-kubectl", "wait-for-hosts", "kubectl-delivery"}),
        ("v1", "Worker", {"mpi-job-config"}),
        ("v2beta1", "Launcher", {"mpi-job-config", "ssh-auth", "wait-for-hosts"}),
        ("v2beta1", "Worker", {"ssh-auth"}),
    ],
)
@pytest.mark.parametrize("field", NAMES)
def test_names_of_what_the_operator_adds_are_taken(version: str, role: str, taken: set[str], field: str) -> None:
    names, what = NAMES[field]
    template = a_template("mpirun")
    template["spec"][field] = [{"name": name} for name in ("mine", *names)]
    change: dict[str, Any] = {role.lower(): {"template": template}}
    assert said(an_mpijob(version, **change)) == [
        f'{ROLES}[{role}].template.spec.{field}[{index}].name: Invalid value: "{name}": '
        f"is taken by {what} that the operator adds; choose another name"
        for index, name in enumerate(names, start=1)
        if name in taken
    ]


def test_a_container_cannot_have_the_name_of_an_init_container_either() -> None:
    (error,) = said(an_mpijob(launcher={"template": a_template("mpirun", name="wait-for-hosts")}))
    assert error.startswith(f'{ROLES}[Launcher].template.spec.containers[0].name: Invalid value: "wait-for-hosts": is')


def test_a_role_nobody_knows_is_named() -> None:
    raw = an_mpijob()
    raw["spec"]["mpiReplicaSpecs"]["worker"] = raw["spec"]["mpiReplicaSpecs"].pop("Worker")
    assert said(raw) == [f'{ROLES}: Unsupported value: "worker": supported values: "Launcher", "Worker"']


def test_an_object_of_no_known_version_is_refused() -> None:
    assert said(an_mpijob("v3")) == [
        'spec.launcherAttachMode: Unsupported value: null: supported values: "kubexec", "ssh"'
    ]


def test_a_job_may_have_no_workers_at_all() -> None:
    raw = an_mpijob()
    del raw["spec"]["mpiReplicaSpecs"]["Worker"]
    assert mpijob.admission_errors(raw) == []


@pytest.mark.parametrize(
    ("length", "workers", "fits"),
    [(54, 1, True), (54, 10, True), (54, 11, False), (53, 100, True), (53, 101, False), (55, None, False)],
)
def test_the_name_of_the_last_worker_must_fit(length: int, workers: int | None, fits: bool) -> None:
    job = an_mpijob(name="a" * length, workers=workers)
    found = [error for error in mpijob.errors(job) if error.field == "metadata.name"]
    assert (not found) is fits


def test_a_name_that_no_pod_can_bear_is_told_with_the_pods_name() -> None:
    assert said(an_mpijob(name="1st")) == [
        'metadata.name: Invalid value: "1st": will not able to create pod with invalid DNS label '
        f'"1st-worker-1": {LABEL}'
    ]


def test_all_mistakes_are_told_at_once() -> None:
    errors = mpijob.errors(an_mpijob(launcher={"replicas": 3}, slotsPerWorker=-1))
    assert shared.message(errors) == (
        "Found validation errors: ["
        f"{ROLES}[Launcher].replicas: Invalid value: 3: must be 1, "
        "spec.slotsPerWorker: Invalid value: -1: must be greater than or equal to 1]"
    )


def test_one_mistake_is_told_without_brackets_and_a_long_story_is_cut() -> None:
    assert shared.message([FieldError("R", "spec.a", "Required value")]) == (
        "Found validation errors: spec.a: Required value"
    )
    assert len(shared.message([FieldError("R", "spec.a", "x" * 3000)])) == 1024


GPU: dict[str, Any] = {"resources": {"limits": {"nvidia.com/gpu": 1}}}
LINE = "the launcher's command line"
ELASTIC = ("horovodrun", "-np", "2", "--min-np", "2", "--max-np", "6", "python", "x")


@pytest.mark.parametrize(
    ("workers", "slots", "spec", "errors"),
    [
        (2, 1, {}, []),
        (6, 1, {}, []),
        (1, 1, {}, [f"1: must be between 2 and 6, as {LINE} says; ask for 2 or change {LINE} first"]),
        (7, 1, {}, [f"7: must be between 2 and 6, as {LINE} says; ask for 6 or change {LINE} first"]),
        (4, 2, {}, [f"4: must be between 1 and 3, as {LINE} says; ask for 3 or change {LINE} first"]),
        (7, 1, {"elasticPolicy": {"minReplicas": 1, "maxReplicas": 8}}, []),
        (
            9,
            1,
            {"elasticPolicy": {"minReplicas": 1, "maxReplicas": 8}},
            ["9: must be between 1 and 8, as spec.elasticPolicy says; ask for 8 or change spec.elasticPolicy first"],
        ),
    ],
)
def test_a_size_outside_its_bounds_is_refused_at_admission_alone(
    workers: int, slots: int, spec: dict[str, Any], errors: list[str]
) -> None:
    job = an_mpijob(workers=workers, slotsPerWorker=slots, command=ELASTIC, **spec)
    found = [str(error) for error in mpijob.admission_errors(job)]
    assert found == [f"{ROLES}[Worker].replicas: Invalid value: {error}" for error in errors]
    assert said(job) == []


def test_a_job_without_bounds_may_have_any_size() -> None:
    assert mpijob.admission_errors(an_mpijob(workers=500)) == []


def test_at_admission_mistakes_come_before_bounds() -> None:
    assert mpijob.admission_errors(an_mpijob(mpiReplicaSpecs=None)) == mpijob.errors(an_mpijob(mpiReplicaSpecs=None))


@pytest.mark.parametrize(
    ("raw", "error"),
    [
        ({"spec": []}, 'spec: Invalid value: "array": must be of type object'),
        ({"metadata": {"labels": {"a": 1}}}, 'metadata.labels[...]: Invalid value: "integer": must be of type string'),
        ({"metadata": {"labels": {1: "a"}}}, 'metadata.labels: Invalid value: "integer": must be of type string'),
        (
            {"metadata": {"creationTimestamp": 1}},
            'metadata.creationTimestamp: Invalid value: "integer": must be of type date-time',
        ),
        ([], ': Invalid value: "array": must be of type object'),
    ],
)
def test_an_object_of_another_shape_is_refused_where_it_differs(raw: Any, error: str) -> None:
    assert said(raw) == [error]


@given(st.sampled_from(VERSIONS), changes())
def test_an_object_of_any_shape_is_either_refused_or_has_a_meaning(version: str, changed: Changes) -> None:
    raw = an_mpijob(
        version,
        command=ELASTIC,
        launcher={"restartPolicy": "Never", "template": a_template(*ELASTIC, env=[{"name": "A", "value": "b"}], **GPU)},
        slotsPerWorker=1,
        cleanPodPolicy="All",
        runPolicy={"suspend": False, "backoffLimit": 1, "schedulingPolicy": {"minResources": {"cpu": 1}}},
        elasticPolicy={"minReplicas": 1},
        launcherAttachMode="ssh",
    )
    change(raw, changed)
    before = msgspec.json.encode(raw)
    if not mpijob.errors(raw):
        job = defaulted(raw)
        assert job.roles["Launcher"].replicas == 1
        assert all(role.replicas >= 1 for role in job.roles.values())
        mpijob.admission_errors(raw)
    assert msgspec.json.encode(raw) == before, "a raw object is only ever read"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("mainContainer", "main; reboot", "a lowercase RFC 1123 label must consist of"),
        ("mainContainer", "$(reboot)", "a lowercase RFC 1123 label must consist of"),
        ("mainContainer", "main\n", "a lowercase RFC 1123 label must consist of"),
        ("mainContainer", "a" * 64, "must be no more than 63 characters"),
        ("sshAuthMountPath", "root/.ssh", "must be an absolute path"),
        ("sshAuthMountPath", "/root/../etc", "must not contain '..'"),
        ("sshAuthMountPath", "/root:ro", "must not contain ':'"),
        ("sshAuthMountPath", "/root\nPermitRootLogin yes", "must not contain control characters"),
        ("sshAuthMountPath", "/" + "ä" * 2048, "must be no more than 4096 bytes"),
    ],
)
def test_what_goes_into_scripts_and_mounts_is_refused_at_its_place(
    version: str, field: str, value: str, why: str
) -> None:
    raw = an_mpijob(version)
    raw["spec"][field] = value
    (error,) = mpijob.errors(raw)
    assert error.field == f"spec.{field}"
    assert why in str(error)


@pytest.mark.parametrize(
    ("place", "value", "field"),
    [
        (("metadata", "labels"), ["a"], "metadata.labels"),
        (("metadata", "annotations"), {"a": 1}, "metadata.annotations[...]"),
        (("spec", "volumes"), "v", "spec.volumes"),
        (("spec", "dnsConfig"), {"searches": "x"}, "spec.dnsConfig.searches"),
        (("spec", "securityContext"), {"fsGroup": "g"}, "spec.securityContext.fsGroup"),
        (("spec", "serviceAccountName"), {}, "spec.serviceAccountName"),
        (
            ("spec", "containers"),
            [{"name": "m", "image": "i", "resources": {"limits": {"cpu": "lots"}}}],
            "spec.containers[0].resources.limits[cpu]",
        ),
    ],
)
def test_parts_of_a_template_of_another_type_are_named(place: tuple[str, str], value: Any, field: str) -> None:
    template = a_template("mpirun")
    template.setdefault(place[0], {})[place[1]] = value
    (error,) = mpijob.errors(an_mpijob(launcher={"template": template}))
    assert error.field == f"{ROLES}[Launcher].template.{field}"
