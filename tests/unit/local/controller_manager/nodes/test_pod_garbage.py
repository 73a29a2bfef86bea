# SPDX-License-Identifier: Apache-2.0
"""Which pods nobody looks after."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.local.controller_manager.nodes.node_objects import NOW, STAMP, a_pod

from springtide.local.controller_manager.nodes.disruption_target import disrupted
from springtide.local.controller_manager.nodes.pod_garbage import LostWithNode, Observed, choose
from springtide.local.controller_manager.views import PodView


def chosen(*pods: PodView, kept: int = 100) -> list[LostWithNode]:
    return choose(Observed(pods, gone={"gone"}, out_of_service={"broken"}), kept)


def test_pods_of_a_node_that_is_gone() -> None:
    orphan, ended = a_pod("a", "gone"), a_pod("b", "gone", "Succeeded")
    assert chosen(orphan, ended, a_pod("c", "here")) == [LostWithNode(orphan, True), LostWithNode(ended, True)]


def test_pods_that_are_deleted_before_they_got_a_node() -> None:
    deleted = a_pod("a", "", "Pending", deletion_timestamp=NOW)
    assert chosen(deleted, a_pod("b", "", "Pending")) == [LostWithNode(deleted)]


def test_deleted_pods_of_a_node_out_of_service() -> None:
    deleted = a_pod("a", "broken", deletion_timestamp=NOW)
    assert chosen(deleted, a_pod("b", "broken"), a_pod("c", "here", deletion_timestamp=NOW)) == [LostWithNode(deleted)]


def test_of_too_many_ended_pods_the_evicted_and_the_oldest_go() -> None:
    ended = [a_pod(f"p{age}", "n", "Succeeded", creation_timestamp=NOW - timedelta(age)) for age in range(4)]
    evicted = a_pod("e", "n", "Failed", "Evicted", creation_timestamp=NOW)
    names = [doomed.pod.metadata.name for doomed in chosen(*ended, evicted, a_pod("running"), kept=3)]
    assert names == ["e", "p3"]


PODS = st.lists(
    st.builds(
        a_pod,
        st.uuids().map(str),
        st.sampled_from(["", "n", "gone", "broken"]),
        st.sampled_from(["Pending", "Running", "Unknown", "Succeeded", "Failed"]),
        creation_timestamp=st.just(NOW),
        deletion_timestamp=st.sampled_from([None, NOW]),
    ),
    max_size=20,
)


@given(PODS, st.integers(0, 20))
def test_no_pod_that_a_node_looks_after_goes_unless_it_has_ended(pods: list[PodView], kept: int) -> None:
    doomed = [one.pod for one in chosen(*pods, kept=kept)]
    assert len({pod.key for pod in doomed}) == len(doomed)
    for pod in doomed:
        assert pod.terminal or pod.spec.node_name != "n"
    left = [pod for pod in pods if pod.terminal and pod not in doomed]
    assert len(left) <= kept


def test_a_disrupted_pod_is_marked_once() -> None:
    ready = {"type": "Ready", "status": "True"}
    pod = {"metadata": {"name": "p", "generation": 2}, "status": {"conditions": [ready]}}
    patch = disrupted(pod, "DeletionByPodGC", "PodGC: node no longer exists", NOW)
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "DeletionByPodGC",
        "message": "PodGC: node no longer exists",
        "observedGeneration": 2,
        "lastTransitionTime": STAMP,
    }
    order = [{"type": "Ready"}, {"type": "DisruptionTarget"}]
    assert patch == {"conditions": [condition], "$setElementOrder/conditions": order}
    marked = pod | {"status": {"conditions": [ready, condition]}}
    assert disrupted(marked, "DeletionByPodGC", "PodGC: node no longer exists", NOW) == {}
    again = disrupted(marked, "DeletionByTaintManager", "m", NOW)
    assert "lastTransitionTime" not in again["conditions"][0]
