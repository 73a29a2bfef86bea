# SPDX-License-Identifier: Apache-2.0
"""Whatever happens to a job and to its scalers, in whatever order; and a fault that these tests find."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, run_state_machine_as_test
from tests.unit.jobs import any_order
from tests.unit.jobs.scaling.builders import scalable

from springtide.jobs.replicas import moving
from springtide.jobs.scaling import advancing, newcomers

MOST = 6


class AnyOrder(any_order.WithScalers):
    @initialize(
        workers=st.integers(1, MOST),
        program=st.sampled_from(["tiderun", "tiderun", "horovodrun", "mpirun"]),
        clean=st.sampled_from(["None", "Running", "All"]),
        runs=st.sampled_from([True, True, True, False]),
    )
    def submitted(self, workers: int, program: str, clean: str, runs: bool) -> None:
        policy = {"cleanPodPolicy": clean, "backoffLimit": 50}
        self.cluster = scalable(workers, (1, MOST), program, runPolicy=policy)
        self.elastic = program != "mpirun"
        if runs:
            self.cluster.settle()

    @invariant()
    def the_size_is_within_its_bounds(self) -> None:
        if not hasattr(self, "cluster"):
            return
        seen = self.cluster.snapshot
        assert len(seen.ledger.members) - len(moving.leavers(seen)) <= MOST
        assert len(self.cluster.listed()) <= MOST

    def runs(self) -> None:
        super().runs()
        if self.elastic:
            assert len(self.cluster.listed()) == self.cluster.size
            assert self.cluster.workers() == sorted(self.cluster.listed())


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)


@pytest.mark.parametrize(("module", "name"), [(newcomers, "held_back"), (advancing, "size_written")])
def test_faults_are_found(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> None:
    """New workers that join one by one, and sizes that are not written."""
    nothing = None if name == "size_written" else ()
    monkeypatch.setattr(module, name, lambda *_: nothing)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(
            AnyOrder,
            settings=settings(
                max_examples=2000,
                stateful_step_count=25,
                database=None,
                deadline=None,
                derandomize=True,
                phases=[Phase.generate],
            ),
        )
