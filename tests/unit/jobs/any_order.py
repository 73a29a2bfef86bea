# SPDX-License-Identifier: Apache-2.0
"""Whatever happens, in whatever order, and wherever the operator is killed: a job gets where it is meant to be.

What happens to jobs of every kind. A kind says how its jobs are submitted, and may add what happens to it alone.

What must hold at every single write is asserted by the simulated cluster itself: a host is never listed before the
launcher may reach it, a name that was a host never stands for another pod, no launcher starts beside another's ranks,
and a status follows from the one before.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.unit.jobs.kind_suite import keeps_its_size
from tests.unit.jobs.simulated import NODES, Cluster, Conflict

from springtide.api.kinds.replicas import WORKER
from springtide.jobs.actions import Plan, RequeueAfter, RunScript, StatusPatch
from springtide.jobs.scaling import phases
from springtide.jobs.scaling.scaler import Scaler


class AnyOrder(RuleBasedStateMachine):
    cluster: Cluster
    """A subclass submits it, by an `initialize` of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.plans: list[Plan] = []

    # The operator, and another one.

    @rule()
    def operator_works(self) -> None:
        self.cluster.reconcile()

    @rule()
    def nothing_happens_for_a_while(self) -> None:
        self.cluster.settle(400)

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
            self.cluster.act(tuple(each for each in stale.actions if not isinstance(each, StatusPatch | RunScript)))

    # The world.

    def _may_go(self, node: str) -> bool:
        """One stays."""
        return len(self.cluster.silent | self.cluster.leaving | {node}) < len(NODES)

    @rule(node=st.sampled_from(NODES))
    def a_node_falls_silent(self, node: str) -> None:
        if self._may_go(node):
            self.cluster.lose(node)

    @rule(node=st.sampled_from(NODES))
    def a_node_is_back(self, node: str) -> None:
        self.cluster.find(node)
        self.cluster.leaving -= {node}
        self.cluster.reclaims.pop(node, None)

    @rule(node=st.sampled_from(NODES), seconds=st.sampled_from([None, 0, 60]))
    def a_node_is_going_away(self, node: str, seconds: int | None) -> None:
        if self._may_go(node):
            self.cluster.leaving |= {node}
            if seconds is not None:
                self.cluster.reclaims[node] = self.cluster.now + timedelta(seconds=seconds)

    @rule(node=st.sampled_from(NODES))
    def a_node_is_drained(self, node: str) -> None:
        if self._may_go(node):
            self.cluster.leaving |= {node}
            for pod in tuple(self.cluster.pods.values()):
                if pod.node == node and pod.alive:
                    self.cluster.terminate(pod.name)

    @rule(seconds=st.sampled_from([0, 1, 10, 40, 700]))
    def time_passes(self, seconds: int) -> None:
        self.cluster.tick(seconds)

    @rule(data=st.data())
    def one_pod_moves_on(self, data: st.DataObject) -> None:
        """Others stay behind: pods start, and end, in any order."""
        movers = [pod for pod in self.cluster.pods.values() if pod.terminating or pod.phase == "Pending"]
        if movers:
            self.cluster.move(data.draw(st.sampled_from(sorted(movers, key=lambda pod: pod.name))))

    @rule(data=st.data(), how=st.sampled_from(["killed", "Evicted", "delete", "vanish", "NodeLost", "unready"]))
    def a_worker_dies(self, data: st.DataObject, how: str) -> None:
        alive = [pod.name for pod in self.cluster.of(WORKER) if pod.alive]
        if alive:
            self._end(data.draw(st.sampled_from(sorted(alive))), how)

    @rule(how=st.sampled_from(["killed", "Evicted", "delete", "vanish"]))
    def whoever_decides_how_the_job_ends_dies(self, how: str) -> None:
        for pod in self.cluster.of(self.cluster.decides):
            if pod.alive:
                self._end(pod.name, how)

    def _end(self, name: str, how: str) -> None:
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
                self.cluster.fail(name, "" if how == "killed" else how, code=137)

    # Its user.

    @rule(workers=st.integers(1, 6))
    def somebody_resizes(self, workers: int) -> None:
        self.cluster.resize(workers)

    @rule(suspend=st.booleans())
    def somebody_suspends_or_resumes(self, suspend: bool) -> None:
        self.cluster.policy(suspend=suspend)

    # Where it has to get.

    def teardown(self) -> None:
        if not hasattr(self, "cluster"):
            return
        cluster = self.cluster
        cluster.settle(700)
        left = [action for action in cluster.plan().actions if not isinstance(action, RequeueAfter)]
        assert not left, "it has settled, yet something is left to do"
        if cluster.finished:
            self.is_clean()
        elif cluster.raw["spec"]["runPolicy"].get("suspend"):
            assert not [pod for pod in cluster.pods.values() if not pod.ended]
        else:
            self.runs()
            cluster.succeed()
            cluster.settle(0)
            assert cluster.conditions.get("Succeeded") == "True", "whoever decides has succeeded, the job has not"
            self.is_clean()

    def runs(self) -> None:
        """Everybody is there."""
        cluster, seen = self.cluster, self.cluster.snapshot
        alive = {pod.name for pod in cluster.pods.values() if pod.alive}
        places = {each.name for each in seen.fixed}
        assert alive | set(seen.ledger.done) >= places
        assert not alive & set(seen.ledger.done)
        assert cluster.conditions.get("Running") == "True", cluster.status.explanation
        bounds = seen.sizes.bounds
        if not keeps_its_size(cluster):
            assert seen.wanted_size == (bounds.nearest(cluster.size) if bounds else cluster.size)
        assert cluster.status.workers.endswith(f"/{seen.wanted_size}")

    def is_clean(self) -> None:
        """Nothing runs on unless it was asked to."""
        cluster, clean = self.cluster, self.cluster.raw["spec"]["runPolicy"].get("cleanPodPolicy", "None")
        keeps = cluster.snapshot.shape.keeps_launcher
        if clean == "All" and not keeps:
            assert not cluster.pods
        if clean != "None" and keeps:
            assert not cluster.of(WORKER)
        if clean != "None":
            assert all(pod.ended for pod in cluster.pods.values())
            assert not [key for key in cluster.objects if key.kind == "PodGroup"]


class WithScalers(AnyOrder):
    """The same for a kind with scalers: they are created and deleted at any time."""

    def __init__(self) -> None:
        super().__init__()
        self.ends: dict[str, Scaler] = {}

    @rule(
        count=st.integers(0, 4),
        timeout=st.sampled_from([0, 20, 60, 600]),
        script=st.sampled_from(["", "", "/scale.sh"]),
        retries=st.integers(0, 2),
        plans=st.integers(0, 4),
    )
    def somebody_scales_out(self, count: int, timeout: int, script: str, retries: int, plans: int) -> None:
        self._scale("ScaleOut", count, (), timeout, script, retries)
        self._plan(plans)

    @rule(
        count=st.integers(0, 4),
        names=st.lists(st.integers(0, 8), max_size=3),
        timeout=st.sampled_from([0, 20, 600]),
        script=st.sampled_from(["", "", "/scale.sh"]),
        plans=st.integers(0, 4),
    )
    def somebody_scales_in(self, count: int, names: list[int], timeout: int, script: str, plans: int) -> None:
        self._scale("ScaleIn", count, tuple(map(self.cluster.snapshot.worker_name, names)), timeout, script, 0)
        self._plan(plans)

    def _plan(self, times: int) -> None:
        """So that the scaler has its turn before much else happens."""
        for _ in range(times):
            self.cluster.reconcile()

    def _scale(self, kind: str, count: int, names: tuple[str, ...], timeout: int, script: str, retries: int) -> None:
        self.cluster.scale(
            kind,
            f"s{len(self.cluster.scalers)}",
            count=count,
            pod_names=names,
            timeout=timedelta(seconds=timeout),
            script=script,
            backoff_limit=retries,
        )

    @rule(data=st.data())
    def somebody_deletes_a_scaler(self, data: st.DataObject) -> None:
        if self.cluster.scalers:
            self.cluster.cancel(data.draw(st.sampled_from(sorted(self.cluster.scalers))))

    @rule(code=st.sampled_from([0, 0, 1]))
    def scripts_end(self, code: int) -> None:
        self.cluster.script_ends(code)

    @rule()
    def the_results_of_scripts_are_forgotten(self) -> None:
        self.cluster.scripts.clear()

    @rule(places=st.sampled_from([None, 2, 4]))
    def there_are_so_many_places(self, places: int | None) -> None:
        self.cluster.capacity = places

    @invariant()
    def a_scaler_that_has_ended_stays_as_it_is(self) -> None:
        there = self.cluster.scalers if hasattr(self, "cluster") else {}
        for uid, scaler in there.items():
            if phases.of(scaler.status).ended:
                assert self.ends.setdefault(uid, scaler).status == scaler.status

    @invariant()
    def new_workers_are_listed_together(self) -> None:
        """Nobody lists a part of them, not even for a moment."""
        if hasattr(self, "cluster"):
            ledger = self.cluster.snapshot.ledger
            assert not set(ledger.joining) & set(ledger.listed)
            assert set(ledger.joining) <= set(ledger.members)

    def teardown(self) -> None:
        """Places and scripts are no longer missing."""
        if not hasattr(self, "cluster"):
            return
        self.cluster.capacity = None
        for _ in range(40):
            self.cluster.settle(20)
            self.cluster.script_ends()
            if all(phases.of(each.status).ended for each in self.cluster.scalers.values()):
                break
        super().teardown()
        left = [each.title for each in self.cluster.scalers.values() if not phases.of(each.status).ended]
        assert not left, "a scaler has not ended"
        assert not self.cluster.snapshot.ledger.joining
