# SPDX-License-Identifier: Apache-2.0
"""A kind on a page has all the tests of a kind; and with a fault in it they fail."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, run_state_machine_as_test
from tests.unit.jobs import any_order, toy
from tests.unit.jobs.builders import a_toy
from tests.unit.jobs.kind_suite import KindSuite
from tests.unit.jobs.simulated import Cluster

from springtide.api.job import Job
from springtide.api.schema.definitions import definition
from springtide.jobs.kind import Kind, Shape, Success

LINES = 150


def submitted(workers: int = 2, **run_policy: Any) -> Cluster:
    return a_toy(workers, restart="OnFailure", **run_policy)


class TestToy(KindSuite):
    submit = staticmethod(submitted)


class AnyOrder(any_order.AnyOrder):
    kind: Kind = toy.TOY_KIND

    @initialize(
        workers=st.integers(1, 4),
        restart=st.sampled_from(["OnFailure", "ExitCode"]),
        clean=st.sampled_from(["None", "Running", "All"]),
        gang=st.sampled_from(["", "volcano"]),
    )
    def submitted(self, workers: int, restart: str, clean: str, gang: str) -> None:
        self.cluster = a_toy(workers, restart=restart, backoffLimit=50, cleanPodPolicy=clean)
        self.cluster.kind = self.kind
        self.cluster.settings = type(self.cluster.settings)(gang_scheduler=gang)

    def runs(self) -> None:
        super().runs()
        services = {key.name for key in self.cluster.objects if key.kind == "Service"}
        assert services == {each.name for each in self.cluster.snapshot.fixed}


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)


class NeverFinishes(toy.ToyKind):
    """Nobody's success is the job's."""

    def shape(self, job: Job[Success]) -> Shape:
        found = super().shape(job)
        return Shape(workers=found.workers, config_name=found.config_name, fixed=found.fixed)


def faulty(workers: int = 2, **run_policy: Any) -> Cluster:
    cluster = submitted(workers, **run_policy)
    cluster.kind = NeverFinishes()
    return cluster


def test_a_kind_that_never_finishes_fails_the_suite() -> None:
    class Faulty(KindSuite):
        submit = staticmethod(faulty)

    with pytest.raises(AssertionError):
        Faulty().test_a_job_is_created_runs_and_succeeds()
    with pytest.raises(AssertionError):
        Faulty().test_the_operator_may_be_killed_after_any_action(3)


def test_a_kind_that_never_finishes_fails_in_any_order() -> None:
    class Faulty(AnyOrder):
        kind = NeverFinishes()

    with pytest.raises(AssertionError):
        run_state_machine_as_test(
            Faulty, settings=settings(max_examples=5, stateful_step_count=5, database=None, report_multiple_bugs=False)
        )


def test_the_toy_is_a_page_long() -> None:
    with open(toy.__file__) as source:
        assert sum(1 for _ in source) <= LINES


def test_it_has_a_definition_and_defaults_and_finds_mistakes() -> None:
    assert definition(toy.RESOURCE)["metadata"]["name"] == "toyjobs.example.org"
    raw = a_toy().raw
    assert toy.SERVED.errors(raw) == []
    assert toy.SERVED.cautions(raw, None) == []
    del raw["spec"]["toyReplicaSpecs"]["Master"]
    assert [str(error) for error in toy.SERVED.errors(raw)] == ["spec.toyReplicaSpecs[Master]: Required value"]
