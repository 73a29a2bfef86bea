# SPDX-License-Identifier: Apache-2.0
"""Whose jobs are left alone."""

from __future__ import annotations

from typing import Any, Final

import pytest
from tests.unit.api.builders import an_mpijob

from springtide.jobs.policies.managed_by import managed_elsewhere

MANAGERS: Final = {
    "nobody is named": (None, False),
    "mpi-operator": ("kubeflow.org/mpi-operator", False),
    "training-operator": ("kubeflow.org/training-operator", False),
    "MultiKueue": ("kueue.x-k8s.io/multikueue", True),
    "somebody unknown": ("example.org/other", True),
}


@pytest.mark.parametrize("sentence", MANAGERS)
def test_who_runs_a_job_that_is_managed_by(sentence: str) -> None:
    manager, elsewhere = MANAGERS[sentence]
    raw = an_mpijob("v2beta1", runPolicy={} if manager is None else {"managedBy": manager})
    assert managed_elsewhere(raw) == elsewhere


@pytest.mark.parametrize(
    ("raw", "elsewhere"),
    [
        (an_mpijob(), False),
        (an_mpijob(runPolicy={}), False),
        (an_mpijob(runPolicy={"managedBy": "kubeflow.org/training-operator"}), False),
        (an_mpijob(runPolicy={"managedBy": "kubeflow.org/mpi-operator"}), False),
        (an_mpijob(runPolicy={"managedBy": "kueue.x-k8s.io/multikueue"}), True),
        (an_mpijob(runPolicy={"managedBy": "somebody/else"}, mpiReplicaSpecs=None), True),
        ({"spec": 1}, False),
        ({}, False),
    ],
)
def test_a_job_of_another_manager_is_told_from_ours_whatever_else_it_says(raw: Any, elsewhere: bool) -> None:
    assert managed_elsewhere(raw) is elsewhere
