# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from tests.unit.controllers.cached import NAME, NAMESPACE, a_job, caches, fill, made
from tests.unit.kube.fake_api import FakeApi

from springtide.api.kinds import mpijob
from springtide.api.kinds.resource import Made
from springtide.controllers import observing
from springtide.controllers.caches import Caches, groups_of, made_by
from springtide.controllers.job_keys import JobKey
from springtide.controllers.views import PodView
from springtide.jobs.kinds.mpi.adapter import MPI_KIND
from springtide.jobs.observed import Settings
from springtide.kube.cache import Replaced
from springtide.kube.client import Client
from springtide.kube.informer import Informers
from springtide.kube.resources import CONFIGMAPS, HORIZONTALPODAUTOSCALERS, NODES, PODS, Key, Obj


def test_only_what_was_made_for_jobs_is_fetched() -> None:
    found = caches()
    assert {informer.scope.labels for informer in found.made} == {"springtide.dev/job"}
    assert found.nodes.scope.labels == ""


def test_a_node_leads_to_the_jobs_on_it() -> None:
    found = caches()
    fill(found.pods, *(made(PODS, f"p-{number}", spec={"nodeName": "a"}) for number in range(2)))
    fill(found.pods, made(PODS, "q", labels={"springtide.dev/job": "other"}, spec={"nodeName": "b"}))
    fill(found.pods, made(PODS, "unplaced"))
    assert found.jobs_on("a") == {JobKey("MPIJob", NAMESPACE, NAME)}
    assert found.jobs_on("b") == {JobKey("MPIJob", NAMESPACE, "other")}
    assert found.jobs_on("c") == frozenset()


def test_a_node_that_leaves_says_when_and_goes_is_news_each_time() -> None:
    found, seen = caches(), set()
    at = {"annotations": {"springtide.dev/reclaim-at": "2026-11-16T08:00:00+00:00"}}
    gone = {"taints": [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]}
    stages: tuple[Obj, ...] = (
        {},
        {"spec": {"unschedulable": True}, "metadata": {"annotations": {"springtide.dev/drain": "now"}}},
        {"spec": {"unschedulable": True}, "metadata": at},
        {"spec": {"unschedulable": True, **gone}, "metadata": at},
        {"spec": {"taints": [{"key": "team", "effect": "NoExecute"}]}},
    )
    for stage in stages:
        fill(found.nodes, made(NODES, "a", owner=None, **stage))
        seen.add(found.node_facts().news())
    assert len(seen) == len(stages)


def test_a_cordon_is_none() -> None:
    found = caches()
    fill(found.nodes, made(NODES, "a", owner=None, spec={"unschedulable": True}))
    assert found.node_facts().news() == frozenset()
    assert found.node_facts().cordoned == {"a"}


def evicted(name: str, node: str, **metadata: Any) -> Obj:
    target = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
    when = {"deletionTimestamp": "2026-11-16T08:00:00Z"} | metadata
    return made(PODS, name, metadata=when, spec={"nodeName": node}, status={"conditions": [target]})


def test_a_cordoned_node_that_pods_are_evicted_from_is_being_drained() -> None:
    found = caches()
    for name, cordoned in (("a", True), ("b", False), ("c", True)):
        fill(found.nodes, made(NODES, name, owner=None, spec={"unschedulable": cordoned}))
    for pod in (evicted("p", "a"), evicted("q", "b"), made(PODS, "r", spec={"nodeName": "c"})):
        fill(found.pods, pod)
    assert found.node_facts().leaving == {"a"}
    fill(found.pods, evicted("p", "a", deletionTimestamp=None))
    assert found.node_facts().leaving == frozenset(), "an eviction that was refused says nothing"


def test_what_a_job_is_made_of_is_found_by_kind() -> None:
    found = caches()
    assert found.named("v1", "ConfigMap") is found.held[CONFIGMAPS]
    with pytest.raises(KeyError):
        found.named("v1", NODES.kind)


@pytest.mark.parametrize(
    ("scheduler", "group"),
    [("volcano", "scheduling.volcano.sh"), ("scheduler-plugins", "scheduling.x-k8s.io"), ("", None)],
)
def test_groups_are_those_of_the_scheduler(scheduler: str, group: str | None) -> None:
    assert [each.group for each in groups_of(scheduler)] == ([group] if group else [])


def gone(found: Caches, **body: Any) -> dict[str, str]:
    """What is known of a pod after it went."""
    decoded = msgspec.convert(made(PODS, "pi-launcher", **body), PodView)
    for handler in found.pods._subscriptions:
        handler(Replaced(Key(NAMESPACE, "pi-launcher"), decoded, None))
    return found.last_reports(JobKey("MPIJob", NAMESPACE, NAME))


def test_what_a_launcher_said_last_is_known_when_it_is_gone_and_forgotten_with_its_job() -> None:
    found, line = caches(), '{"springtide":"progress","step":7}'
    assert gone(found) == {}
    assert gone(found, metadata={"annotations": {"springtide.dev/progress": "{}"}}) == {"uid-pi-launcher": "{}"}
    ended = {"name": "main", "state": {"terminated": {"exitCode": 143, "message": f"a\n{line}\nb"}}}
    assert gone(found, status={"containerStatuses": [ended]}) == {"uid-pi-launcher": line}
    found.forget(JobKey("MPIJob", NAMESPACE, NAME))
    assert found.last_reports(JobKey("MPIJob", NAMESPACE, NAME)) == {}


def test_types_that_only_some_kinds_make_are_held_like_the_others() -> None:
    makes = (Made("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler"),)
    twice = made_by([replace(mpijob.RESOURCE, makes=makes), replace(mpijob.RESOURCE, makes=makes)])
    assert twice == (HORIZONTALPODAUTOSCALERS,)
    found = Caches(Informers(Client(FakeApi())), "", "", twice)
    assert found.named("autoscaling/v2", "HorizontalPodAutoscaler").resource == HORIZONTALPODAUTOSCALERS
    fill(found.held[HORIZONTALPODAUTOSCALERS], made(HORIZONTALPODAUTOSCALERS, "pi", spec={"maxReplicas": 3}))
    held = observing.observed(a_job(), MPI_KIND, found, Settings()).objects
    assert [(key.kind, each.body["spec"]) for key, each in held.items()] == [
        ("HorizontalPodAutoscaler", {"maxReplicas": 3})
    ]
