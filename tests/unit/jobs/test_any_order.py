# SPDX-License-Identifier: Apache-2.0
"""Whatever happens, in whatever order, and wherever the operator is killed: a job gets where it is meant to be.

What must hold at every single write is asserted by the simulated cluster itself: a host is never listed before the
launcher may reach it, a name that was a host never stands for another pod, no launcher starts beside another's ranks,
and a status follows from the one before.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.unit.api.builders import an_mpijob
from tests.unit.jobs.simulated import NODES, Cluster, Conflict

from springtide.api.kinds.replicas import LAUNCHER, WORKER
from springtide.jobs import deferring, moving, situation
from springtide.jobs.actions import Plan, RequeueAfter, StatusPatch
from springtide.jobs.kinds.mpi.adapter import MPI_KIND

ELASTIC = ("horovodrun", "-np", "1", "--max-np", "4", "--network-interfaces", "eth0", "--host-discovery-script", "/x")
RIGID = ("mpirun", "-np", "2", "pi")
SAVING = ("tiderun", "-np", "1", "--max-np", "4", "--host-discovery-script", "/x")
PROGRESS = {"springtide.dev/progress": '{"step":7,"checkpoint":5}'}


class AnyOrder(RuleBasedStateMachine):
    cluster: Cluster

    def __init__(self) -> None:
        super().__init__()
        self.plans: list[Plan] = []

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
    def operator_works(self) -> None:
        self.cluster.reconcile()

    @rule()
    def nothing_happens_for_a_while(self) -> None:
        self.cluster.settle(40)

    @rule(until=st.integers(0, 12))
    def operator_is_killed_or_refused(self, until: int) -> None:
        """A plan ends at the first write that the server refuses, as it does where its operator dies."""
        self.cluster.reconcile(until)

    @rule()
    def another_operator_makes_a_plan(self) -> None:
        self.plans.append(self.cluster.plan())

    @precondition(lambda self: self.plans)
    @rule(data=st.data())
    def another_operator_acts_on_what_it_saw_long_ago(self, data: st.DataObject) -> None:
        stale = self.plans.pop(data.draw(st.integers(0, len(self.plans) - 1)))
        with suppress(Conflict):
            self.cluster.act(tuple(each for each in stale.actions if not isinstance(each, StatusPatch)))

    @rule(node=st.sampled_from(NODES))
    def a_node_falls_silent(self, node: str) -> None:
        if len(self.cluster.silent | self.cluster.leaving | {node}) < len(NODES):
            self.cluster.lose(node)

    @rule(node=st.sampled_from(NODES))
    def a_node_is_back(self, node: str) -> None:
        self.cluster.find(node)
        self.cluster.leaving -= {node}
        self.cluster.reclaims.pop(node, None)

    @rule(node=st.sampled_from(NODES), seconds=st.sampled_from([None, 0, 60]))
    def a_node_is_going_away(self, node: str, seconds: int | None) -> None:
        if len(self.cluster.silent | self.cluster.leaving | {node}) < len(NODES):
            self.cluster.leaving |= {node}
            if seconds is not None:
                self.cluster.reclaims[node] = self.cluster.now + timedelta(seconds=seconds)

    @rule(node=st.sampled_from(NODES))
    def a_node_is_drained(self, node: str) -> None:
        if len(self.cluster.silent | self.cluster.leaving | {node}) < len(NODES):
            self.cluster.leaving |= {node}
            for pod in tuple(self.cluster.pods.values()):
                if pod.node == node and pod.alive:
                    self.cluster.terminate(pod.name)

    @rule(seconds=st.sampled_from([0, 1, 10, 40, 700]))
    def time_passes(self, seconds: int) -> None:
        self.cluster.tick(seconds)

    @rule()
    def the_job_controller_works(self) -> None:
        self.cluster.job_controller()

    @rule(data=st.data())
    def one_pod_moves_on(self, data: st.DataObject) -> None:
        """Others stay behind: pods start, and end, in any order."""
        movers = [pod for pod in self.cluster.pods.values() if pod.terminating or pod.phase == "Pending"]
        if movers:
            self.cluster.move(data.draw(st.sampled_from(sorted(movers, key=lambda pod: pod.name))))

    @rule(workers=st.integers(1, 6))
    def somebody_resizes(self, workers: int) -> None:
        self.cluster.resize(workers)

    @rule(suspend=st.booleans())
    def somebody_suspends_or_resumes(self, suspend: bool) -> None:
        self.cluster.policy(suspend=suspend)

    @rule(data=st.data(), how=st.sampled_from(["fail", "Evicted", "delete", "vanish", "NodeLost", "unready"]))
    def a_worker_dies(self, data: st.DataObject, how: str) -> None:
        alive = [pod.name for pod in self.cluster.of(WORKER) if pod.alive]
        if not alive:
            return
        name = data.draw(st.sampled_from(sorted(alive)))
        match how:
            case "delete":
                self.cluster.terminate(name)
            case "vanish":
                self.cluster.vanish(name)
            case "unready":
                self.cluster.change(name, ready=False)
            case "NodeLost":
                self.cluster.change(name, ready=False, reason=how)
            case _:
                self.cluster.fail(name, "" if how == "fail" else how)

    @rule(how=st.sampled_from(["fail", "Evicted", "delete", "vanish"]))
    def the_launcher_dies(self, how: str) -> None:
        for pod in self.cluster.of(LAUNCHER):
            if pod.alive:
                match how:
                    case "delete":
                        self.cluster.terminate(pod.name)
                    case "vanish":
                        self.cluster.vanish(pod.name)
                    case _:
                        self.cluster.fail(pod.name, "" if how == "fail" else how)

    @rule()
    def the_launcher_reports_a_checkpoint(self) -> None:
        for pod in self.cluster.of(LAUNCHER):
            self.cluster.change(pod.name, annotations={**pod.annotations, **PROGRESS})

    @precondition(lambda self: any(pod.phase == "Running" and pod.alive for pod in self.cluster.of(LAUNCHER)))
    @rule()
    def the_launcher_succeeds(self) -> None:
        self.cluster.succeed()

    @invariant()
    def the_size_is_within_its_bounds(self) -> None:
        if not hasattr(self, "cluster"):
            return
        seen = situation.read(self.cluster.observe(), MPI_KIND, self.cluster.now)
        most = 4 if self.elastic else 6
        assert len(seen.ledger.members) - len(moving.leavers(seen)) <= most
        assert len(self.cluster.listed()) <= most

    def teardown(self) -> None:
        if not hasattr(self, "cluster"):
            return
        cluster = self.cluster
        cluster.settle(700)
        left = [action for action in cluster.plan().actions if not isinstance(action, RequeueAfter)]
        assert not left, "it has settled, yet something is left to do"
        wanted = cluster.raw["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"]
        wanted = min(wanted, 4) if self.elastic else wanted
        if cluster.finished:
            self._is_clean()
        elif cluster.raw["spec"]["runPolicy"].get("suspend"):
            assert not [pod for pod in cluster.pods.values() if not pod.ended]
        else:
            kept = len(deferring.held(situation.read(cluster.observe(), MPI_KIND, cluster.now)))
            assert len(cluster.listed()) == max(wanted, kept), cluster.status.explanation
            assert cluster.workers() == sorted(cluster.listed())
            assert cluster.launcher().phase == "Running"
            assert cluster.status.workers == f"{wanted if self.elastic else kept}/{wanted}"
            assert cluster.conditions["Running"] == "True"

    def _is_clean(self) -> None:
        """Nothing runs on unless it was asked to."""
        cluster, clean = self.cluster, self.cluster.raw["spec"]["runPolicy"]["cleanPodPolicy"]
        if clean == "All":
            assert not cluster.pods
        if clean == "Running":
            assert all(pod.ended for pod in cluster.pods.values())
        if clean != "None":
            assert not [key for key in cluster.objects if key.kind == "PodGroup"]


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
