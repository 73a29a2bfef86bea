# SPDX-License-Identifier: Apache-2.0
"""Whatever happens to a job without a launcher, in whatever order: everybody has one pod in their place, or it ends."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from tests.unit.jobs.simulated import NODES, Cluster
from tests.unit.jobs.toy import a_toy

from springtide.jobs.actions import RequeueAfter
from springtide.jobs.observed import Exit


class AnyOrder(RuleBasedStateMachine):
    cluster: Cluster

    @initialize(
        workers=st.integers(1, 4),
        restart=st.sampled_from(["OnFailure", "ExitCode"]),
        clean=st.sampled_from(["None", "Running", "All"]),
    )
    def submitted(self, workers: int, restart: str, clean: str) -> None:
        self.cluster, self.clean = a_toy(workers, restart=restart, clean=clean, retries=50), clean

    @rule(until=st.integers(0, 12))
    def operator_is_killed_or_refused(self, until: int) -> None:
        self.cluster.reconcile(until)

    @rule()
    def nothing_happens_for_a_while(self) -> None:
        self.cluster.settle(400)

    @rule(seconds=st.sampled_from([0, 10, 700]))
    def time_passes(self, seconds: int) -> None:
        self.cluster.tick(seconds)

    @rule(workers=st.integers(1, 6))
    def somebody_resizes(self, workers: int) -> None:
        self.cluster.resize(workers)

    @rule(suspend=st.booleans())
    def somebody_suspends_or_resumes(self, suspend: bool) -> None:
        self.cluster.policy(suspend=suspend)

    @rule(data=st.data(), how=st.sampled_from(["killed", "Evicted", "delete", "vanish", "succeed"]))
    def a_pod_ends(self, data: st.DataObject, how: str) -> None:
        alive = sorted(name for name, pod in self.cluster.pods.items() if pod.alive)
        if not alive:
            return
        name = data.draw(st.sampled_from(alive))
        match how:
            case "delete":
                self.cluster.terminate(name)
            case "vanish":
                self.cluster.vanish(name)
            case "succeed":
                self.cluster.change(name, phase="Succeeded", ready=False, exit=Exit(0, "Completed"))
            case _:
                self.cluster.fail(name, "Evicted" if how == "Evicted" else "", code=137)

    @rule(node=st.sampled_from(NODES[:2]))
    def a_node_falls_silent(self, node: str) -> None:
        self.cluster.lose(node)

    @rule(node=st.sampled_from(NODES))
    def a_node_is_back(self, node: str) -> None:
        self.cluster.find(node)

    def teardown(self) -> None:
        if not hasattr(self, "cluster"):
            return
        cluster = self.cluster
        cluster.settle(700)
        assert not [action for action in cluster.plan().actions if not isinstance(action, RequeueAfter)]
        alive = {name for name, pod in cluster.pods.items() if pod.alive}
        if cluster.finished:
            assert not alive or self.clean == "None"
        elif cluster.raw["spec"]["runPolicy"].get("suspend"):
            assert not alive
        else:
            self._everybody_is_there()

    def _everybody_is_there(self) -> None:
        cluster = self.cluster
        size = min(cluster.raw["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"], 4)
        wanted = {"toy-master-0", *(f"toy-worker-{index}" for index in range(size))}
        assert {name for name, pod in cluster.pods.items() if pod.alive} <= wanted
        assert {key.name for key in cluster.objects if key.kind == "Service"} == wanted
        assert cluster.pods["toy-master-0"].ready
        assert cluster.conditions["Running"] == "True"


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
