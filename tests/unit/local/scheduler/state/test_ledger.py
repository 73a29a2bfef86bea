# SPDX-License-Identifier: Apache-2.0
"""What was decided counts at once, and gives way to what the watch shows."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.local.scheduler.things import GPU, a_node_view, a_pod_view, company

from springtide.kube.resources import Key, Obj
from springtide.local.scheduler.gangs.groups import VOLCANO_GROUPS, Group
from springtide.local.scheduler.state.ledger import Change, Ledger
from springtide.local.scheduler.state.pods import Pod
from springtide.local.scheduler.state.snapshot import Snapshot
from springtide.local.scheduler.state.views import GroupView, PodView, QueueView
from springtide.local.scheduler.units import Unit, rank, unit_of, waiting

P = Key("default", "p")


def a_ledger(*views: PodView, nodes: tuple[str, ...] = ("a", "b")) -> Ledger:
    ledger = Ledger(Snapshot(), frozenset({"default-scheduler"}))
    for name in nodes:
        ledger.node_changed(name, a_node_view(name, {GPU: "4"}))
    for view in views:
        ledger.pod_changed(Key(view.metadata.namespace, view.metadata.name), view)
    return ledger


def the_pod(ledger: Ledger) -> Pod:
    return ledger.pods[P]


def a_group(name: str, **spec: object) -> Group:
    metadata = {"name": name, "namespace": "default", "creationTimestamp": "2026-01-01T00:00:00Z"}
    return Group(VOLCANO_GROUPS, msgspec.convert({"metadata": metadata, "spec": spec}, GroupView))


def a_queue(**spec: object) -> QueueView:
    return msgspec.convert({"metadata": {"name": "team"}, "spec": spec}, QueueView)


def test_an_assumed_pod_is_on_its_node_and_waits_no_more() -> None:
    ledger = a_ledger(a_pod_view(wants={GPU: "1"}, uid="1"))
    assert ledger.is_ours(the_pod(ledger))
    ledger.assume(the_pod(ledger), "a")
    assert ledger.snapshot.where("1") == "a"
    assert not ledger.is_ours(the_pod(ledger))
    ledger.pod_changed(P, a_pod_view(wants={GPU: "1"}, uid="1", labels={"seen": "again"}))
    assert ledger.snapshot.where("1") == "a"


def test_the_watch_has_the_last_word() -> None:
    ledger = a_ledger(a_pod_view(uid="1"))
    ledger.assume(the_pod(ledger), "a")
    ledger.pod_changed(P, a_pod_view(uid="1", nodeName="b"))
    assert ledger.snapshot.where("1") == "b"
    ledger.forget(the_pod(ledger))
    assert ledger.snapshot.where("1") == "b"


def test_a_failed_binding_is_forgotten() -> None:
    ledger = a_ledger(a_pod_view(uid="1"))
    ledger.assume(the_pod(ledger), "a")
    ledger.forget(the_pod(ledger))
    assert ledger.snapshot.where("1") == ""
    assert ledger.is_ours(the_pod(ledger))


def test_another_pod_of_the_same_name_inherits_nothing() -> None:
    ledger = a_ledger(a_pod_view(uid="1"))
    ledger.assume(the_pod(ledger), "a")
    ledger.pod_changed(P, a_pod_view(uid="2"))
    assert ledger.snapshot.where("1") == ledger.snapshot.where("2") == ""
    assert ledger.is_ours(the_pod(ledger))


def test_a_promise_outlives_news_that_do_not_know_of_it_yet() -> None:
    ledger = a_ledger(a_pod_view(uid="1", priority=5))
    assert ledger.promise(the_pod(ledger), "a").nominated == "a"
    ledger.pod_changed(P, a_pod_view(uid="1", priority=5, labels={"new": ""}))
    assert the_pod(ledger).nominated == "a"
    other = a_pod_view("q", uid="q")
    ledger.pod_changed(Key("default", "q"), other)
    assert [pod.uid for pod in ledger.snapshot.promised("a", ledger.pods[Key("default", "q")])] == ["1"]


def test_a_promise_ends_when_the_watch_shows_it_taken_back() -> None:
    ledger = a_ledger(a_pod_view(uid="1", status={"nominatedNodeName": "a"}))
    assert ledger.promise(the_pod(ledger), "").nominated == ""
    ledger.pod_changed(P, a_pod_view(uid="1", status={}))
    ledger.pod_changed(P, a_pod_view(uid="1", status={"nominatedNodeName": "b"}))
    assert the_pod(ledger).nominated == "b"


def test_a_condemned_pod_is_on_its_way_out_until_it_is_pardoned() -> None:
    ledger = a_ledger(a_pod_view(uid="1", nodeName="a"))
    ledger.condemn(the_pod(ledger))
    assert the_pod(ledger).deleting
    assert the_pod(ledger).preempted
    ledger.pardon(the_pod(ledger))
    assert not the_pod(ledger).deleting


NAMES = ("p", "q", "r")
deeds = st.lists(
    st.tuples(
        st.sampled_from(("put", "bound", "done", "gone", "assume", "forget", "promise", "condemn", "node", "no node")),
        st.sampled_from(NAMES),
        st.sampled_from(("a", "b")),
    ),
    max_size=25,
)


def do(ledger: Ledger, deed: str, name: str, node: str) -> None:
    key = Key("default", name)
    news: dict[str, Obj] = {
        "put": {},
        "bound": {"nodeName": node},
        "done": {"nodeName": node, "status": {"phase": "Succeeded"}},
    }
    pod = ledger.pods.get(key)
    if deed in news:
        shy = company("podAntiAffinity", "x") if name == "q" else None
        ledger.pod_changed(key, a_pod_view(name, {GPU: "1"}, uid=name, affinity=shy, **news[deed]))
    elif deed == "gone":
        ledger.pod_changed(key, None)
    elif deed == "node":
        ledger.node_changed(node, a_node_view(node, {GPU: "4"}))
    elif deed == "no node":
        ledger.node_changed(node, None)
    elif pod is not None and deed == "assume" and ledger.is_ours(pod):
        ledger.assume(pod, node)
    elif pod is not None and deed == "forget":
        ledger.forget(pod)
    elif pod is not None and deed == "promise" and ledger.is_ours(pod):
        ledger.promise(pod, node)
    elif pod is not None and deed == "condemn":
        ledger.condemn(pod)


@given(deeds)
def test_when_all_decisions_are_forgotten_only_what_is_remains(done: list[tuple[str, str, str]]) -> None:
    ledger = a_ledger()
    for each in done:
        do(ledger, *each)
    for pod in list(ledger.pods.values()):
        ledger.forget(pod)
        ledger.pardon(ledger.pods[pod.key])
    views = [view for name in NAMES if (view := ledger.view(Key("default", name))) is not None]
    fresh = a_ledger(*views, nodes=tuple(state.node.name for state in ledger.snapshot.nodes))
    assert [(state.name, set(state.pods)) for state in ledger.snapshot.nodes] == [
        (state.name, set(state.pods)) for state in fresh.snapshot.nodes
    ]
    for ours, new in zip(ledger.snapshot.nodes, fresh.snapshot.nodes, strict=True):
        assert ours.used.get(GPU, 0) == new.used.get(GPU, 0)
    assert ledger.snapshot.any_anti_affinity == fresh.snapshot.any_anti_affinity


# ------------------------------------------------------------------------------------------------- what changes mean


def change(before: PodView | None, after: PodView | None) -> Change:
    ledger = a_ledger(*([] if before is None else [before]))
    return ledger.pod_changed(P, after)


def test_a_new_pod_wants_to_be_looked_at() -> None:
    assert change(None, a_pod_view(uid="1")) == Change.ITSELF
    assert change(None, a_pod_view(uid="1", schedulerName="another")) == Change.NOTHING
    assert change(None, a_pod_view(uid="1", schedulingGates=[{"name": "g"}])) == Change.NOTHING


def test_what_is_said_about_a_pod_does_not_concern_it() -> None:
    said: Obj = {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "message": "no"}]}
    assert change(a_pod_view(uid="1"), a_pod_view(uid="1", status=said)) == Change.NOTHING


def test_a_gate_that_opens_does() -> None:
    assert change(a_pod_view(uid="1", schedulingGates=[{"name": "g"}]), a_pod_view(uid="1")) == Change.ITSELF


def test_a_pod_that_leaves_its_node_leaves_room() -> None:
    there = a_pod_view(uid="1", nodeName="a")
    assert change(there, None) == Change.CAPACITY
    assert change(there, a_pod_view(uid="1", nodeName="a", status={"phase": "Failed"})) == Change.CAPACITY
    assert change(a_pod_view(uid="1"), None) == Change.NOTHING


def test_a_pod_that_comes_is_company() -> None:
    assert change(None, a_pod_view(uid="1", nodeName="a")) == Change.OTHER_PODS
    there = a_pod_view(uid="1", nodeName="a")
    assert change(there, a_pod_view(uid="1", nodeName="a", status={"phase": "Running"})) == Change.NOTHING
    assert change(there, a_pod_view(uid="1", nodeName="a", labels={"app": "web"})) == Change.OTHER_PODS


def test_an_assumed_pod_that_goes_leaves_room_too() -> None:
    ledger = a_ledger(a_pod_view(uid="1"))
    ledger.assume(the_pod(ledger), "a")
    assert ledger.pod_changed(P, None) == Change.CAPACITY


def test_a_heartbeat_means_nothing() -> None:
    ledger = a_ledger()
    assert ledger.node_changed("a", a_node_view("a", {GPU: "4"})) == Change.NOTHING
    assert ledger.node_changed("a", a_node_view("a", {GPU: "5"})) == Change.CAPACITY
    assert ledger.node_changed("a", None) == Change.CAPACITY


# ------------------------------------------------------------------------------------------------------------- gangs


def member(name: str, group: str = "g", **more: object) -> PodView:
    return a_pod_view(name, {GPU: "1"}, uid=name, annotations={"scheduling.k8s.io/group-name": group}, **more)


def test_a_gang_has_its_members_its_queue_and_what_the_queue_holds() -> None:
    ledger = a_ledger(member("x", nodeName="a"), member("y"), member("z", "other", nodeName="a"))
    ledger.queue_changed("team", a_queue(weight=3, capability={GPU: "9"}))
    for name in ("g", "other"):
        group = a_group(name, minMember=2, queue="team", priorityClassName="high")
        ledger.group_changed(VOLCANO_GROUPS.group, group.key, group)
    ledger.priorities["high"] = 7
    found = ledger.group_of(Key("default", "g"))
    assert found is not None
    gang = ledger.gang(found)
    assert [pod.key.name for pod in gang.members] == ["x", "y"]
    assert (gang.least, gang.priority) == (2, 7)
    assert (gang.queue.weight, gang.queue.capability, gang.queue.used) == (3, {GPU: 9}, {GPU: 2})


def test_members_that_go_are_forgotten() -> None:
    ledger = a_ledger(member("x"), member("y"))
    ledger.pod_changed(Key("default", "x"), None)
    assert [pod.key.name for pod in ledger.members(Key("default", "g"))] == ["y"]
    ledger.pod_changed(Key("default", "y"), None)
    assert ledger.members(Key("default", "g")) == []


def test_a_status_written_to_a_group_means_nothing() -> None:
    ledger = a_ledger()
    group = a_group("g", minMember=2)
    assert ledger.group_changed(VOLCANO_GROUPS.group, group.key, group) == Change.CAPACITY
    told = Group(VOLCANO_GROUPS, msgspec.structs.replace(group.view, status={"phase": "Running"}))
    assert ledger.group_changed(VOLCANO_GROUPS.group, group.key, told) == Change.NOTHING
    assert ledger.group_changed(VOLCANO_GROUPS.group, group.key, None) == Change.CAPACITY


# ------------------------------------------------------------------------------------------------------------- order


def test_the_order_of_those_that_wait() -> None:
    ledger = a_ledger(
        a_pod_view("young", uid="young", created="2026-01-03T00:00:00Z"),
        a_pod_view("old", uid="old", created="2026-01-01T00:00:00Z"),
        a_pod_view("important", uid="important", priority=5, created="2026-01-04T00:00:00Z"),
        member("x", "begun", nodeName="a"),
        member("y", "begun"),
        member("z", "heavy", priority=5, created="2026-01-05T00:00:00Z"),
    )
    ledger.queue_changed("team", a_queue(weight=9))
    for name, queue in (("begun", "team"), ("heavy", "team")):
        group = a_group(name, minMember=2, queue=queue)
        ledger.group_changed(VOLCANO_GROUPS.group, group.key, group)
    units = {unit_of(pod) for pod in ledger.pods.values() if ledger.is_ours(pod)}
    assert [unit.key.name for unit in sorted(units, key=lambda unit: rank(unit, ledger))] == [
        "begun",
        "heavy",
        "important",
        "old",
        "young",
    ]


def test_a_unit_waits_as_long_as_one_of_its_pods_does() -> None:
    ledger = a_ledger(member("x", nodeName="a"), member("y"), member("z", schedulerName="another"))
    gang = Unit(Key("default", "g"), gang=True)
    assert [pod.key.name for pod in waiting(gang, ledger)] == ["y"]
    assert waiting(Unit(Key("default", "none")), ledger) == []
