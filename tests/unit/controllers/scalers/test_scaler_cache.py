# SPDX-License-Identifier: Apache-2.0
"""Which scalers a job has."""

from __future__ import annotations

import pytest
from tests.unit.controllers.cached import NAMESPACE, caches
from tests.unit.controllers.scalers.parts import JOB, a_scaler, stored

from springtide.controllers.job_keys import JobKey
from springtide.controllers.scalers import reading
from springtide.controllers.scalers.cache import ScalerKey

KEY = JobKey("TrainingJob", NAMESPACE, JOB)


def test_scalers_of_both_kinds_are_those_of_the_job_that_they_select() -> None:
    found = caches()
    stored(found, a_scaler(), a_scaler("ScaleIn", "shrink"), a_scaler(name="other", job="other"))
    assert sorted(each.name for each in found.scalers.of(KEY, "u-1")) == ["grow", "shrink"]


def test_a_job_of_the_same_name_in_another_namespace_has_none_of_them() -> None:
    found = caches()
    stored(found, a_scaler())
    assert found.scalers.of(KEY._replace(namespace="other"), "u-1") == ()


def test_a_kind_without_scalers_has_none() -> None:
    found = caches()
    stored(found, a_scaler(job="pi"))
    assert found.scalers.of(JobKey("MPIJob", NAMESPACE, "pi"), "u-1") == ()


@pytest.mark.parametrize(("owner", "bound"), [("", [False]), ("u-1", [True]), ("u-0", [])])
def test_one_that_has_another_controller_does_not_belong_to_the_job(owner: str, bound: list[bool]) -> None:
    found = caches()
    stored(found, a_scaler(owner=owner))
    assert [each.bound for each in found.scalers.of(KEY, "u-1")] == bound
    assert found.scalers.selecting(KEY) == [ScalerKey("ScaleOut", NAMESPACE, "grow")]


def test_an_owned_one_stays_with_its_owner_whatever_it_selects_now() -> None:
    found = caches()
    stored(found, a_scaler(owner="u-1", spec={"selector": {"name": "other"}}))
    assert [each.name for each in found.scalers.of(KEY, "u-1")] == ["grow"]


def test_a_scaler_is_read_once_per_version(monkeypatch: pytest.MonkeyPatch) -> None:
    found, count = caches(), 0
    read = reading.scaler

    def counted(*given: object) -> object:
        nonlocal count
        count += 1
        return read(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(reading, "scaler", counted)
    stored(found, a_scaler())
    for _ in range(3):
        found.scalers.of(KEY, "u-1")
    assert count == 1
    stored(found, a_scaler(metadata={"resourceVersion": "8"}))
    (scaler,) = found.scalers.of(KEY, "u-1")
    assert (count, scaler.resource_version) == (2, "8")
