# SPDX-License-Identifier: Apache-2.0
"""Whatever happens to an MPIJob, in whatever order."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule
from tests.unit.api.builders import an_mpijob
from tests.unit.jobs import any_order
from tests.unit.jobs.simulated import Cluster

from springtide.api.kinds.replicas import LAUNCHER
from springtide.jobs.replicas import deferring, moving

ELASTIC = ("horovodrun", "-np", "1", "--max-np", "4", "--network-interfaces", "eth0", "--host-discovery-script", "/x")
RIGID = ("mpirun", "-np", "2", "pi")
SAVING = ("tiderun", "-np", "1", "--max-np", "4", "--host-discovery-script", "/x")
PROGRESS = {"springtide.dev/progress": '{"step":7,"checkpoint":5}'}


class AnyOrder(any_order.AnyOrder):
    @initialize(
        version=st.sampled_from(["v1", "v2beta1"]),
        command=st.sampled_from([ELASTIC, RIGID, SAVING]),
        workers=st.integers(1, 4),
        waits=st.booleans(),
        clean=st.sampled_from(["None", "Running", "All"]),
        gang=st.sampled_from(["", "volcano"]),
        runs=st.booleans(),
    )
    def submitted(
        self, version: str, command: tuple[str, ...], workers: int, waits: bool, clean: str, gang: str, runs: bool
    ) -> None:
        policy = "WaitForWorkersReady" if waits else "AtStartup"
        raw = an_mpijob(
            version,
            workers=workers,
            command=command,
            launcherCreationPolicy=policy,
            runPolicy={"cleanPodPolicy": clean, "backoffLimit": 50},
        )
        self.cluster = Cluster(raw)
        self.cluster.settings = type(self.cluster.settings)(gang_scheduler=gang)
        self.elastic = command != RIGID
        if runs:
            self.cluster.settle()

    @rule()
    def the_job_controller_works(self) -> None:
        self.cluster.job_controller()

    @rule()
    def the_launcher_reports_a_checkpoint(self) -> None:
        for pod in self.cluster.of(LAUNCHER):
            self.cluster.change(pod.name, annotations={**pod.annotations, **PROGRESS})

    @rule()
    def the_launcher_succeeds(self) -> None:
        if any(pod.phase == "Running" and pod.alive for pod in self.cluster.of(LAUNCHER)):
            self.cluster.succeed()

    @invariant()
    def the_size_is_within_its_bounds(self) -> None:
        if not hasattr(self, "cluster"):
            return
        seen = self.cluster.snapshot
        most = 4 if self.elastic else 6
        assert len(seen.ledger.members) - len(moving.leavers(seen)) <= most
        assert len(self.cluster.listed()) <= most

    def runs(self) -> None:
        super().runs()
        cluster, wanted = self.cluster, self.cluster.snapshot.wanted_size
        kept = len(deferring.held(cluster.snapshot))
        assert len(cluster.listed()) == max(wanted, kept), cluster.status.explanation
        assert cluster.workers() == sorted(cluster.listed())
        assert cluster.launcher().phase == "Running"
        assert cluster.status.workers == f"{wanted if self.elastic else kept}/{wanted}"


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
