# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a TrainingJob is said with the path of the field."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from tests import arena
from tests.unit.api.any_shape import Changes, change, changes
from tests.unit.api.builders import a_template, a_trainingjob

from springtide.api.defaults.trainingjob import defaulted
from springtide.api.field_errors import MOST_ERRORS
from springtide.api.kinds.trainingjob import RESOURCE
from springtide.api.validation import trainingjob, updates

ROLES = "spec.etReplicaSpecs"
LAUNCHER, WORKER = f"{ROLES}.launcher", f"{ROLES}.worker"
CONTAINERS = "template.spec.containers"
POLICIES = 'supported values: "Always", "ExitCode", "Never", "OnFailure"'
NEGATIVE = "must be greater than or equal to 0"
POSITIVE = "must be greater than or equal to 1"
WAIT = "job-supervisor.kube-ai.io/max-wait-time"
SECONDS = "must be a whole number of seconds from 0 to 2147483647, without a unit; 0 is no limit"
SUSPENDED = "job-supervisor.kube-ai.io/job-suspended"
QUEUED = "scheduling.x-k8s.io/suspend"
START = "springtide.dev/start-size"
SECRET = "arena.kubeflow.org/ssh-secret"
BOOLEANS = 'supported values: "true", "false"'


def said(raw: dict[str, Any]) -> list[str]:
    return [str(error) for error in trainingjob.errors(raw)]


def without(role: str) -> dict[str, Any]:
    raw = a_trainingjob()
    del raw["spec"]["etReplicaSpecs"][role]
    return raw


def with_more(**roles: Any) -> dict[str, Any]:
    raw = a_trainingjob()
    raw["spec"]["etReplicaSpecs"] |= roles
    return raw


def annotated(name: str, value: Any) -> dict[str, Any]:
    return a_trainingjob(annotations={name: value})


def holding(**spec: Any) -> dict[str, Any]:
    """A role whose pods have this, too."""
    template = a_template()
    template["spec"] |= spec
    return {"template": template}


@pytest.mark.parametrize(
    "raw",
    [
        a_trainingjob(),
        a_trainingjob(workers=None),
        arena.etjob()[1],
        a_trainingjob(
            worker={"minReplicas": 2, "maxReplicas": 2, "restartPolicy": "ExitCode"},
            launcher={"restartPolicy": "Always", "replicas": None},
            slotsPerWorker=1,
            backoffLimit=0,
            restartPolicy="OnFailure",
            launcherAttachMode="kubexec",
            cleanPodPolicy="All",
        ),
        *(a_trainingjob(worker={"restartPolicy": policy}) for policy in ("Never", "OnFailure", "Always")),
        *(a_trainingjob(cleanPodPolicy=policy) for policy in ("None", "Running")),
        *(annotated(WAIT, value) for value in ("0", "600", "2147483647")),
        *(annotated(name, value) for name in (SUSPENDED, QUEUED) for value in ("true", "false")),
        annotated(START, "min"),
        annotated(SECRET, "my-keys"),
        a_trainingjob(name="a" * 54),
        a_trainingjob(launcherAttachMode="kubexec", worker=holding(volumes=[{"name": "bert"}])),
    ],
)
def test_these_are_fine(raw: dict[str, Any]) -> None:
    assert trainingjob.admission_errors(raw) == []


WRONG: dict[str, tuple[dict[str, Any], list[str]]] = {
    "no roles": (
        {"kind": "TrainingJob", "metadata": {"name": "bert"}, "spec": {}},
        [f"{ROLES}: Required value: must have replica specs"],
    ),
    "no launcher": (without("launcher"), [f"{LAUNCHER}: Required value: must have launcher replica spec"]),
    "no worker": (without("worker"), [f"{WORKER}: Required value: must have worker replica spec"]),
    "a role that there is none": (
        with_more(Launcher={}),
        [f'{ROLES}: Unsupported value: "Launcher": supported values: "launcher", "worker"'],
    ),
    "roles of another type": (
        a_trainingjob(etReplicaSpecs=[]),
        [f'{ROLES}: Invalid value: "array": must be of type object'],
    ),
    "two launchers": (
        a_trainingjob(launcher={"replicas": 2}),
        [f"{LAUNCHER}.replicas: Invalid value: 2: must be 1"],
    ),
    "no launcher pod": (
        a_trainingjob(launcher={"replicas": 0}),
        [f"{LAUNCHER}.replicas: Invalid value: 0: must be 1"],
    ),
    "no workers": (a_trainingjob(workers=0), [f"{WORKER}.replicas: Invalid value: 0: {POSITIVE}"]),
    "workers of another type": (
        a_trainingjob(worker={"replicas": "two"}),
        [f'{WORKER}.replicas: Invalid value: "string": must be of type integer'],
    ),
    "bounds below one": (
        a_trainingjob(worker={"minReplicas": 0, "maxReplicas": 0}),
        [
            f"{WORKER}.minReplicas: Invalid value: 0: {POSITIVE}",
            f"{WORKER}.maxReplicas: Invalid value: 0: {POSITIVE}",
        ],
    ),
    "a minimum above the maximum": (
        a_trainingjob(worker={"minReplicas": 3, "maxReplicas": 2}),
        [f"{WORKER}.minReplicas: Invalid value: 3: must not be more than maxReplicas"],
    ),
    "unknown restart policies": (
        a_trainingjob(
            launcher={"restartPolicy": "Sometimes"}, worker={"restartPolicy": "never"}, restartPolicy="Always"
        ),
        [
            f'{LAUNCHER}.restartPolicy: Unsupported value: "Sometimes": {POLICIES}',
            f'{WORKER}.restartPolicy: Unsupported value: "never": {POLICIES}',
            'spec.restartPolicy: Unsupported value: "Always": supported values: "Never", "OnFailure"',
        ],
    ),
    "no containers": (
        a_trainingjob(launcher={"template": {}}, worker={"template": {"spec": {"containers": []}}}),
        [f"{role}.{CONTAINERS}: Required value: must define at least one container" for role in (LAUNCHER, WORKER)],
    ),
    "a container without name and image": (
        a_trainingjob(worker={"template": {"spec": {"containers": [{}]}}}),
        [f"{WORKER}.{CONTAINERS}[0].{field}: Required value" for field in ("name", "image")],
    ),
    "a template of another type": (
        a_trainingjob(launcher={"template": {"spec": {"containers": [1]}}}),
        [f'{LAUNCHER}.{CONTAINERS}[0]: Invalid value: "integer": must be of type object'],
    ),
    "an amount that is none": (
        a_trainingjob(worker={"template": a_template(resources={"limits": {"nvidia.com/gpu": "many"}})}),
        [
            f'{WORKER}.{CONTAINERS}[0].resources.limits[nvidia.com/gpu]: Invalid value: "many": quantities must match '
            "the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        ],
    ),
    "an unknown way to attach": (
        a_trainingjob(launcherAttachMode="rsh"),
        ['spec.launcherAttachMode: Unsupported value: "rsh": supported values: "kubexec", "ssh"'],
    ),
    "no slots": (a_trainingjob(slotsPerWorker=0), [f"spec.slotsPerWorker: Invalid value: 0: {POSITIVE}"]),
    "fewer retries than none": (
        a_trainingjob(backoffLimit=-1),
        [f"spec.backoffLimit: Invalid value: -1: {NEGATIVE}"],
    ),
    "an unknown clean-up": (
        a_trainingjob(cleanPodPolicy="Some"),
        ['spec.cleanPodPolicy: Unsupported value: "Some": supported values: "All", "None", "Running"'],
    ),
    "volumes and containers that the operator adds": (
        a_trainingjob(
            launcher=holding(
                volumes=[{"name": "training-job-config"}, {"name": "bert"}], initContainers=[{"name": "init-hostfile"}]
            ),
            worker=holding(volumes=[{"name": "bert"}]),
        ),
        [
            f'{role}.template.spec.{field}.name: Invalid value: "{name}": is taken by {what} that the operator adds; '
            "choose another name"
            for role, field, name, what in (
                (LAUNCHER, "volumes[0]", "training-job-config", "a volume"),
                (LAUNCHER, "volumes[1]", "bert", "a volume"),
                (LAUNCHER, "initContainers[0]", "init-hostfile", "an init container"),
                (WORKER, "volumes[0]", "bert", "a volume"),
            )
        ],
    ),
    **{
        f"a wait of {value[:9]!r}": (
            annotated(WAIT, value),
            [f'metadata.annotations[{WAIT}]: Invalid value: "{value}": {SECONDS}'],
        )
        for value in ("5m", "", "-1", "1.5", "2147483648", "9" * 1000)
    },
    **{
        f"{name} that is {value!r}": (
            annotated(name, value),
            [f'metadata.annotations[{name}]: Unsupported value: "{value}": {BOOLEANS}'],
        )
        for name in (SUSPENDED, QUEUED)
        for value in ("True", "yes", "")
    },
    "a start size that there is none": (
        annotated(START, "max"),
        [f'metadata.annotations[{START}]: Unsupported value: "max": supported values: "min"'],
    ),
}


@pytest.mark.parametrize(("raw", "errors"), WRONG.values(), ids=WRONG)
def test_these_are_refused(raw: dict[str, Any], errors: list[str]) -> None:
    assert said(raw) == errors
    assert [str(error) for error in trainingjob.admission_errors(raw)] == errors


@pytest.mark.parametrize("name", ["", "My-Keys", "my.keys", "a" * 64])
def test_a_secret_is_named_as_its_volume_is(name: str) -> None:
    (error,) = said(annotated(SECRET, name))
    assert error.startswith(f'metadata.annotations[{SECRET}]: Invalid value: "{name}": must be the name of a Secret')


@pytest.mark.parametrize(
    ("name", "workers", "pod"),
    [
        ("9-lives", 2, "9-lives-launcher"),
        ("a" * 55, 2, f"{'a' * 55}-launcher"),
        ("a" * 54, 11, f"{'a' * 54}-worker-10"),
        ("a.b", 2, "a.b-launcher"),
    ],
)
def test_a_name_that_leads_to_no_pod_is_refused(name: str, workers: int, pod: str) -> None:
    (error,) = trainingjob.errors(a_trainingjob(name=name, workers=workers))
    assert error.field == "metadata.name"
    assert f'will not able to create pod with invalid DNS label "{pod}"' in error.message


@pytest.mark.parametrize(
    ("workers", "bounds", "error"),
    [
        (4, {"maxReplicas": 3}, "4: must be between 1 and 3, as {0} says; ask for 3 or change {0} first"),
        (1, {"minReplicas": 2}, "1: must be at least 2, as {0} says; ask for 2 or change {0} first"),
        (
            6,
            {},
            "6: must be at most 5: the operator runs no larger jobs; ask for fewer workers, or raise its "
            "--max-workers-per-job",
        ),
    ],
)
def test_a_size_out_of_bounds_is_refused_at_admission_alone(workers: int, bounds: dict[str, int], error: str) -> None:
    raw = a_trainingjob(workers=workers, worker=bounds)
    assert said(raw) == []
    found = [str(each) for each in trainingjob.admission_errors(raw, 5)]
    assert found == [f"{WORKER}.replicas: Invalid value: {error.format(WORKER)}"]


def test_a_wrong_annotation_is_refused_without_a_change_of_the_spec() -> None:
    verdict = updates.judged(trainingjob.admission_errors, a_trainingjob(), annotated(WAIT, "5m"))
    assert [error.field for error in verdict.errors] == [f"metadata.annotations[{WAIT}]"]
    assert updates.judged(trainingjob.admission_errors, annotated(WAIT, "5m"), annotated(WAIT, "300")).errors == []


def test_a_job_that_has_finished_is_not_resized() -> None:
    assert RESOURCE.scale is not None
    old = a_trainingjob() | {"status": {"conditions": [{"type": "Succeeded", "status": "True"}]}}
    (error,) = updates.resized_when_finished(RESOURCE.scale, old, a_trainingjob(workers=3))
    assert error.field == f"{WORKER}.replicas"


def test_errors_without_number_are_cut_short() -> None:
    raw = a_trainingjob(worker={"template": {"spec": {"containers": [{} for _ in range(100_000)]}}})
    found = trainingjob.errors(raw)
    assert len(found) == MOST_ERRORS + 1
    assert found[-1].message.startswith("Too many")


@given(changes())
def test_an_object_of_any_shape_is_either_refused_or_has_a_meaning(changed: Changes) -> None:
    raw = a_trainingjob(
        annotations={WAIT: "600", SUSPENDED: "true"},
        worker={"template": a_template(resources={"limits": {"nvidia.com/gpu": 1}}), "maxReplicas": 9},
        restartPolicy="OnFailure",
        launcherAttachMode="ssh",
    )
    change(raw, changed)
    before = msgspec.json.encode(raw)
    if not trainingjob.errors(raw):
        job = defaulted(raw)
        assert all(role.replicas >= 1 for role in job.roles.values())
        assert job.own.slots_per_worker >= 1
        trainingjob.admission_errors(raw)
    assert msgspec.json.encode(raw) == before, "a raw object is only ever read"


def test_nothing_at_all_is_refused() -> None:
    assert [error.field for error in trainingjob.errors({})] == ["metadata.name", ROLES]
