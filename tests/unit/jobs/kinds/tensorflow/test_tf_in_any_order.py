# SPDX-License-Identifier: Apache-2.0
"""Whatever happens to a TFJob, in whatever order."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize
from tests.unit.jobs import any_order
from tests.unit.jobs.builders import tensorflow


class AnyOrder(any_order.AnyOrder):
    @initialize(
        workers=st.integers(1, 4),
        others=st.sampled_from([{}, {"Chief": 1}, {"PS": 1, "Evaluator": 1}, {"Master": 1, "PS": 2}]),
        dynamic=st.booleans(),
        restart=st.sampled_from(["OnFailure", "ExitCode"]),
        whole=st.booleans(),
        clean=st.sampled_from(["None", "Running", "All"]),
        gang=st.sampled_from(["", "volcano"]),
    )
    def submitted(
        self, workers: int, others: dict[str, int], dynamic: bool, restart: str, whole: bool, clean: str, gang: str
    ) -> None:
        self.cluster = tensorflow(
            {**others, "Worker": workers},
            {"springtide.dev/restart": "whole-job"} if whole else None,
            restart=restart,
            enableDynamicWorker=dynamic,
            successPolicy="AllWorkers",
            runPolicy={"backoffLimit": 50, "cleanPodPolicy": clean},
        )
        self.cluster.settings = type(self.cluster.settings)(gang_scheduler=gang)

    def runs(self) -> None:
        super().runs()
        services = {key.name for key in self.cluster.objects if key.kind == "Service"}
        assert services == {each.name for each in self.cluster.snapshot.fixed}


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
