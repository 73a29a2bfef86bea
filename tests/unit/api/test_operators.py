# SPDX-License-Identifier: Apache-2.0
"""What a pod of another operator says of the cluster that it was applied to."""

from __future__ import annotations

import pytest

from springtide.api import operators
from springtide.api.kinds.registry import RESOURCES
from springtide.api.operators import OPERATORS, Operator

SERVED = [resource.kind for resource in RESOURCES]


def test_an_operator_whose_jobs_the_cluster_runs_is_not_needed() -> None:
    assert Operator("mpi-operator", (), ("MPIJob",)).notice == (
        "mpi-operator: this cluster runs MPIJobs by an operator that is built in. "
        "Nothing is left to do; this pod does nothing."
    )


def test_an_operator_whose_jobs_nobody_runs_says_so() -> None:
    assert Operator("x", (), ("MPIJob", "AJob", "BJob")).notice == (
        "x: this cluster runs MPIJobs by an operator that is built in; this version of Springtide does not run AJobs "
        "and BJobs. This pod does nothing and may be deleted."
    )
    assert Operator("x", (), ("AJob",)).notice == (
        "x: this version of Springtide does not run AJobs. This pod does nothing and may be deleted."
    )


@pytest.mark.parametrize("operator", OPERATORS, ids=[each.name for each in OPERATORS])
def test_what_is_said_follows_from_the_kinds_there_are(operator: Operator) -> None:
    for kind in operator.kinds:
        runs = f"{kind}s" in operator.notice.partition("does not run")[0]
        assert runs == (kind in SERVED)


def test_webhooks_are_known_by_name() -> None:
    found = operators.of_webhook("validator.pytorchjob.training-operator.kubeflow.org")
    assert found is not None
    assert found.name == "training-operator"
    assert operators.of_webhook("validator.example.com") is None
