# SPDX-License-Identifier: Apache-2.0
"""TrainingJobs are those of Arena's own chart, except for the differences listed here."""

from __future__ import annotations

import re
from typing import Any, Final

import pytest
from tests.unit.manifests import flags

from springtide.api.validation import trainingjob as validation
from springtide.manifests.rendering import render
from springtide.manifests.submissions.submission import DeepSpeedJob, EtJob

KINDS: Final[dict[str, type[Any]]] = {"etjob": EtJob, "deepspeedjob": DeepSpeedJob}
CASES: Final = [(kind, name) for kind, of in KINDS.items() for name in flags.submissions(of)]
DIFFERENCES: Final = {
    r"\w+ metadata\.namespace": "kubectl is told it otherwise",
    r"TrainingJob .*\.resources\.\w+\.(amd|aliyun)\.com/.*": "quantities are texts; Arena writes numbers as numbers",
    r"TrainingJob .*(launcher|worker).*\.labels\.pod-group\..*": (
        "--gang: the group has as many members as there are workers. Arena marks the launcher alone, which then "
        "waits for the rest of its group for ever"
    ),
    r"TrainingJob .*launcher.*\.command": "--shell, which Arena ignores for these types",
    r"Deployment .*\.podAffinity\.\w+": "TensorBoard need not be beside a chief whose node does not hold the logs",
    r"TrainingJob spec\.backoffLimit": "--retry, which Arena ignores for these types; --job-backoff-limit=0, as well",
    r"TrainingJob spec\.restartPolicy": "--retry: a job that never restarts makes no use of it",
}
"""By object and path, with the reason."""


def differing(kind: str, name: str) -> list[str]:
    return flags.differing_objects(render(flags.submissions(KINDS[kind])[name]), flags.rendered(kind, name))


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
    assert validation.admission_errors(render(flags.submissions(KINDS[kind])[name])[-1]) == []
