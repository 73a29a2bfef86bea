# SPDX-License-Identifier: Apache-2.0
"""Whatever happens to a TrainingJob, in whatever order."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule
from tests.unit.jobs import any_order
from tests.unit.jobs.builders import elastic_training

from springtide.api.kinds.replicas import LAUNCHER, WORKER
from springtide.jobs.replicas import deferring, moving
from springtide.jobs.scaling import turns

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

    @rule(
        adds=st.booleans(),
        count=st.integers(1, 3),
        timeout=st.sampled_from([0, 60, 10**6]),
        script=st.sampled_from(["", "", "/s.sh"]),
        retries=st.integers(0, 1),
    )
    def somebody_creates_a_scaler(self, adds: bool, count: int, timeout: int, script: str, retries: int) -> None:
        kind, name = "ScaleOut" if adds else "ScaleIn", f"scaler-{next(self.cluster.serial)}"
        seconds = timedelta(seconds=timeout)
        self.cluster.scale(kind, name, count=count, timeout=seconds, script=script, backoff_limit=retries)

    @precondition(lambda self: self.cluster.workers())
    @rule(data=st.data())
    def somebody_removes_workers_by_name(self, data: st.DataObject) -> None:
        names = data.draw(st.sets(st.sampled_from(self.cluster.workers()), min_size=1, max_size=2))
        self.cluster.scale("ScaleIn", f"scaler-{next(self.cluster.serial)}", pod_names=tuple(sorted(names)))

    @precondition(lambda self: self.cluster.scalers)
    @rule(data=st.data(), waits=st.booleans())
    def somebody_deletes_a_scaler(self, data: st.DataObject, waits: bool) -> None:
        uid = data.draw(st.sampled_from(sorted(self.cluster.scalers)))
        if waits:  # for a finalizer
            self.cluster.scalers[uid] = replace(self.cluster.scalers[uid], terminating=True)
        else:
            self.cluster.cancel(uid)

    @rule(code=st.sampled_from([0, 0, 1]))
    def scripts_end(self, code: int) -> None:
        self.cluster.script_ends(code, "the last line")

    @rule()
    def operator_forgets_scripts(self) -> None:
        """One that starts anew knows of none."""
        self.cluster.scripts.clear()

    @rule(places=st.sampled_from([None, 1, 3]))
    def there_is_so_much_room(self, places: int | None) -> None:
        self.cluster.capacity = places

    @rule(most=st.integers(1, MOST))
    def somebody_narrows_the_bounds(self, most: int) -> None:
        self.cluster.version += 1
        self.cluster.raw["spec"]["etReplicaSpecs"]["worker"]["maxReplicas"] = most

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

    def teardown(self) -> None:
        """Scripts end, there is room again: then all scalers end."""
        if not hasattr(self, "cluster"):
            return
        self.cluster.capacity = None
        for _ in range(2 * len(self.cluster.scalers) + 2):
            self.cluster.settle(700)
            self.cluster.script_ends()
        super().teardown()
        left = [each for each in self.cluster.scalers.values() if not each.terminating and not turns.phase(each).ended]
        assert not left or self.cluster.snapshot.launcher is None, "scalers have not ended"

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
TestAnyOrder.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
