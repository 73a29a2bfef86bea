# SPDX-License-Identifier: Apache-2.0
"""Whatever happens to a PyTorchJob, in whatever order."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize
from tests.unit.jobs import any_order
from tests.unit.jobs.builders import pytorch


class AnyOrder(any_order.AnyOrder):
    @initialize(
        workers=st.integers(1, 4),
        master=st.booleans(),
        elastic=st.booleans(),
        restart=st.sampled_from(["OnFailure", "ExitCode"]),
        whole=st.booleans(),
        clean=st.sampled_from(["None", "Running", "All"]),
        gang=st.sampled_from(["", "volcano", "scheduler-plugins-scheduler"]),
    )
    def submitted(
        self, workers: int, master: bool, elastic: bool, restart: str, whole: bool, clean: str, gang: str
    ) -> None:
        self.cluster = pytorch(
            {**({"Master": 1} if master else {}), "Worker": workers},
            {"springtide.dev/restart": "whole-job"} if whole else None,
            restart=restart,
            elasticPolicy={"minReplicas": 1, "maxReplicas": 4, "metrics": []} if elastic else None,
            runPolicy={"backoffLimit": 50, "cleanPodPolicy": clean},
        )
        self.cluster.settings = type(self.cluster.settings)(gang_scheduler=gang)

    def runs(self) -> None:
        super().runs()
        cluster = self.cluster
        services = {key.name for key in cluster.objects if key.kind == "Service"}
        assert services == {each.name for each in cluster.snapshot.fixed}
        autoscalers = [key for key in cluster.objects if key.kind == "HorizontalPodAutoscaler"]
        assert len(autoscalers) == cluster.snapshot.sizes.elastic


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
