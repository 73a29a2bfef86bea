# SPDX-License-Identifier: Apache-2.0
"""`--retry`, `--queue` and `--nproc-per-node` do what they say, which Arena's charts do not."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.manifests import flags

from springtide.manifests.rendering import render
from springtide.manifests.submissions import checks
from springtide.manifests.submissions.submission import PyTorchJob, TfJob
from springtide.messages import Language, shown


def spec(kind: type[Any], name: str) -> Any:
    return render(flags.submissions(kind)[name])[-1]["spec"]


def policies(roles: dict[str, Any]) -> dict[str, str]:
    return {name: role["restartPolicy"] for name, role in roles.items()}


def test_a_retry_restarts_every_role() -> None:
    pytorch, tensorflow = spec(PyTorchJob, "timeouts"), spec(TfJob, "policies")
    assert pytorch["runPolicy"]["backoffLimit"] == 3
    assert policies(pytorch["pytorchReplicaSpecs"]) == {"Master": "OnFailure", "Worker": "OnFailure"}
    assert tensorflow["runPolicy"]["backoffLimit"] == 2
    assert policies(tensorflow["tfReplicaSpecs"]) == {"PS": "OnFailure", "Worker": "OnFailure"}


def test_without_retries_a_failure_of_the_master_ends_the_job() -> None:
    assert policies(spec(PyTorchJob, "defaults")["pytorchReplicaSpecs"]) == {"Master": "Never", "Worker": "OnFailure"}
    assert policies(spec(TfJob, "all-roles")["tfReplicaSpecs"]) == {
        "PS": "Never",
        "Worker": "OnFailure",
        "Chief": "Never",
        "Evaluator": "Never",
    }


@pytest.mark.parametrize("kind", [PyTorchJob, TfJob])
def test_a_queued_job_is_created_suspended(kind: type[Any]) -> None:
    assert spec(kind, "scheduling")["runPolicy"]["suspend"] is True
    assert "suspend" not in spec(kind, "defaults")["runPolicy"]


def test_the_number_of_processes_is_a_field_of_the_job() -> None:
    assert spec(PyTorchJob, "processes")["nprocPerNode"] == "gpu"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("policies", ["--starting-timeout has no effect", "--role-sequence has no effect"]),
        ("spread-without-ps", ["--worker-affinity-policy has no effect"]),
        ("spread", []),
        ("defaults", []),
    ],
)
def test_flags_of_a_tfjob_that_change_nothing_are_said(name: str, said: list[str]) -> None:
    found = [shown(each, Language.ENGLISH) for each in checks.unheeded(flags.submissions(TfJob)[name])]
    assert [sentence.split(" no effect")[0] + " no effect" for sentence in found] == said
