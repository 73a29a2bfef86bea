# SPDX-License-Identifier: Apache-2.0
"""TFJobs and PyTorchJobs are those of Arena's own charts, except for the differences listed here."""

from __future__ import annotations

import re
from typing import Any, Final

import pytest
from tests.unit.manifests import flags

from springtide.api.field_errors import FieldError
from springtide.api.validation import pytorchjob as pytorchjob_validation
from springtide.api.validation import tfjob as tfjob_validation
from springtide.manifests.parts import role_ports
from springtide.manifests.parts.objects import Obj
from springtide.manifests.rendering import render
from springtide.manifests.submissions.submission import PyTorchJob, TfJob

KINDS: Final[dict[str, type[Any]]] = {"pytorchjob": PyTorchJob, "tfjob": TfJob}
CASES: Final = [(kind, name) for kind, of in KINDS.items() for name in flags.submissions(of)]
DIFFERENCES: Final = {
    r"\w+ metadata\.namespace": "kubectl is told it otherwise",
    r"TFJob .*template\.metadata\.name": "nothing reads it; all types have it",
    r"\w+Job .*\.resources\.\w+\.amd\.com/gpu": "quantities are texts; Arena writes what looks like a number as one",
    r"\w+Job spec\.runPolicy\.suspend": "--queue: no operator but kube-queue's own knows Arena's annotation",
    r"TFJob spec\.runPolicy\.backoffLimit": "--retry, which Arena ignores for TFJobs",
    r"TFJob .*(PS|Worker)\.restartPolicy": "--retry: a pod that never restarts makes no use of it",
    r"PyTorchJob .*Master\.restartPolicy": "--retry: the same",
    r"PyTorchJob spec\.nprocPerNode": "operators set Arena's variable themselves, to auto without this field",
    r"Deployment .*\.podAffinity\.\w+": "TensorBoard need not be beside a chief whose node does not hold the logs",
    r"TFJob .*Worker.*\.initContainers\.resources\.limits\.cpu": "what fetches code needs no more than its request",
    r"TFJob .*(Evaluator|Worker)\.template\.spec\.volumes": "volumes that nothing mounts are left out",
    r"TFJob .*Evaluator.*\.containers\.securityContext": "without RDMA's resource it means nothing",
}
"""By object and path, with the reason."""


def objects(kind: str, name: str) -> list[Obj]:
    submission = flags.submissions(KINDS[kind])[name]
    return render(role_ports.chosen(submission, ()) if isinstance(submission, TfJob) else submission)


def differing(kind: str, name: str) -> list[str]:
    return flags.differing_objects(objects(kind, name), flags.rendered(kind, name))


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_a_job_differs_from_arenas_only_as_listed(kind: str, name: str) -> None:
    assert [path for path in differing(kind, name) if not _listed(path)] == []


def _listed(path: str) -> bool:
    return any(re.fullmatch(pattern, path) for pattern in DIFFERENCES)


@pytest.mark.parametrize("pattern", DIFFERENCES)
def test_each_listed_difference_exists(pattern: str) -> None:
    assert any(re.fullmatch(pattern, path) for case in CASES for path in differing(*case))


@pytest.mark.parametrize("kind", KINDS)
def test_each_recorded_command_line_is_tested(kind: str) -> None:
    assert sorted(flags.submissions(KINDS[kind])) == sorted(flags.recorded(kind))


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_validation_accepts_the_job(kind: str, name: str) -> None:
    assert errors(objects(kind, name)[-1]) == []


def errors(job: Obj) -> list[FieldError]:
    if job["kind"] == "PyTorchJob":
        return pytorchjob_validation.admission_errors(job)
    return tfjob_validation.admission_errors(job)
