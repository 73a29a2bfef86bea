# SPDX-License-Identifier: Apache-2.0
"""Whatever happens to a TrainingJob, in whatever order."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule
from tests.unit.jobs import any_order
from tests.unit.jobs.builders import elastic_training

from springtide.api.kinds.replicas import LAUNCHER, WORKER
from springtide.jobs.replicas import deferring, moving

ELASTIC = ("sh", "-c", "horovodrun -np $((1*1)) --max-np $((4*1)) --host-discovery-script /etc/edl/discover_hosts.sh x")
RIGID = ("mpirun", "-np", "2", "train")
SAVING = ("tiderun", "-np", "1", "--max-np", "4", "--host-discovery-script", "/x")
MOST = 4


class AnyOrder(any_order.AnyOrder):
    @initialize(
        attach=st.sampled_from(["ssh", "kubexec"]),
        command=st.sampled_from([ELASTIC, RIGID, SAVING, ("deepspeed", "train.py")]),
        workers=st.integers(1, MOST),
        clean=st.sampled_from(["None", "Running", "All"]),
        gang=st.sampled_from(["", "volcano"]),
        runs=st.booleans(),
    )
    def submitted(self, attach: str, command: tuple[str, ...], workers: int, clean: str, gang: str, runs: bool) -> None:
        policy = {"cleanPodPolicy": clean, "backoffLimit": 50}
        self.cluster = elastic_training(workers, policy, (1, MOST), command, launcherAttachMode=attach)
        self.cluster.settings = type(self.cluster.settings)(gang_scheduler=gang)
        self.elastic = command != RIGID
        if runs:
            self.cluster.settle()

    @rule()
    def the_launcher_succeeds(self) -> None:
        if any(pod.phase == "Running" and pod.alive for pod in self.cluster.of(LAUNCHER)):
            self.cluster.succeed()

    @invariant()
    def the_size_is_within_its_bounds(self) -> None:
        if not hasattr(self, "cluster"):
            return
        seen = self.cluster.snapshot
        assert len(seen.ledger.members) - len(moving.leavers(seen)) <= MOST
        assert len(self.cluster.listed()) <= MOST

    @invariant()
    def every_worker_has_a_name(self) -> None:
        if hasattr(self, "cluster") and not self.cluster.finished:
            assert {pod.name for pod in self.cluster.of(WORKER) if pod.alive} <= self._services()

    def _services(self) -> set[str]:
        return {key.name for key in self.cluster.objects if key.kind == "Service"}

    def runs(self) -> None:
        super().runs()
        cluster, wanted = self.cluster, self.cluster.snapshot.wanted_size
        kept = len(deferring.held(cluster.snapshot))
        assert len(cluster.listed()) == max(wanted, kept), cluster.status.explanation
        assert cluster.workers() == sorted(cluster.listed()) == sorted(self._services())
        assert cluster.launcher().phase == "Running"

    def is_clean(self) -> None:
        super().is_clean()
        assert self._services() <= {pod.name for pod in self.cluster.of(WORKER)}


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
