# SPDX-License-Identifier: Apache-2.0
"""Which sizes a deployment's replica sets get, step by step."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.local.controller_manager.workloads.builders import NOW, a_replica_set, a_template, ago

from springtide.kube.resources import Obj
from springtide.local.controller_manager.workloads.rollout_terms import fence_posts, resolved
from springtide.local.controller_manager.workloads.rollouts import Observed, Plan, collided, failed_to_create, plan

DESIRED, MAX = "deployment.kubernetes.io/desired-replicas", "deployment.kubernetes.io/max-replicas"
REVISION = "deployment.kubernetes.io/revision"


def a_deployment(replicas: int = 4, image: str = "two", status: Obj | None = None, **spec: Any) -> Obj:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "uid": "uid-web", "generation": 2},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": a_template(image),
            "strategy": rolling,
            "progressDeadlineSeconds": 600,
            "revisionHistoryLimit": 2,
            **spec,
        },
        "status": status or {},
    }


def a_set(
    name: str, size: int, available: int | None = None, *, image: str = "one", desired: int = 4, **parts: Any
) -> Obj:
    annotations = {DESIRED: str(desired), MAX: str(desired + 1), REVISION: parts.pop("revision", "1")}
    ready = size if available is None else available
    return a_replica_set(
        name, size, image=image, annotations=annotations, availableReplicas=ready, readyReplicas=ready, **parts
    )


def sizes(decided: Plan) -> dict[str, int]:
    found = {
        change.replica_set["metadata"]["name"]: change.size for change in decided.changes if "spec" in change.patch
    }
    if decided.create:
        found["created"] = decided.create["spec"]["replicas"]
    return found


def test_the_first_replica_set_gets_all_pods_at_once() -> None:
    decided = plan(Observed(a_deployment()), NOW)
    made = decided.create
    assert made is not None
    code = made["metadata"]["labels"]["pod-template-hash"]
    assert made["metadata"]["name"] == f"web-{code}"
    assert made["spec"]["replicas"] == 4
    assert made["spec"]["selector"] == {"matchLabels": {"app": "web", "pod-template-hash": code}}
    assert made["spec"]["template"]["metadata"]["labels"] == {"app": "web", "pod-template-hash": code}
    assert made["metadata"]["annotations"] == {REVISION: "1", DESIRED: "4", MAX: "5"}
    assert made["metadata"]["ownerReferences"][0]["uid"] == "uid-web"
    assert decided.revision == "1"
    progressing = next(c for c in decided.status["conditions"] if c["type"] == "Progressing")
    assert (progressing["reason"], progressing["message"]) == (
        "NewReplicaSetCreated",
        f'Created new replica set "web-{code}"',
    )


@pytest.mark.parametrize(
    ("sets", "expected"),
    [
        ([a_set("old", 4)], {"created": 1, "old": 3}),
        ([a_set("old", 3), a_set("new", 1, 0, image="two")], {"new": 2}),
        ([a_set("old", 3), a_set("new", 2, 0, image="two")], {}),
        ([a_set("old", 3), a_set("new", 2, 2, image="two")], {"old": 1}),
        ([a_set("old", 1), a_set("new", 4, 3, image="two")], {"old": 0}),
        ([a_set("old", 0), a_set("new", 4, 4, image="two")], {}),
        ([a_set("old", 0), a_set("new", 6, 4, image="two")], {"new": 4}),
        ([a_set("old", 4, 1)], {"created": 1, "old": 3}),
        ([a_set("older", 2, 1, age=200), a_set("old", 2, 2), a_set("new", 1, 1, image="two")], {"older": 0}),
    ],
    ids=[
        "one more and one less",
        "up while there is room",
        "wait for new pods to become available",
        "down as far as availability allows",
        "the last old pod",
        "done",
        "new one too large",
        "pods that do not work go first, too",
        "the oldest replica set goes first",
    ],
)
def test_a_rolling_update_takes_one_step(sets: list[Obj], expected: dict[str, int]) -> None:
    assert sizes(plan(Observed(a_deployment(), tuple(sets)), NOW)) == expected


def test_a_template_seen_before_makes_its_replica_set_the_newest_again() -> None:
    known = a_set("new", 0, image="two", revision="1")
    decided = plan(Observed(a_deployment(), (known, a_set("old", 4, revision="2"))), NOW)
    change = next(change for change in decided.changes if change.replica_set is known)
    assert change.annotations[REVISION] == "3"
    assert change.annotations["deployment.kubernetes.io/revision-history"] == "1"
    assert decided.revision == "3"


@pytest.mark.parametrize(
    ("sets", "running", "expected"),
    [
        ([a_set("old", 4)], {"uid-old"}, {"old": 0}),
        ([a_set("old", 0, replicas=1)], {"uid-old"}, {}),
        ([a_set("old", 0)], {"uid-old"}, {}),
        ([a_set("old", 0)], set(), {"created": 4}),
    ],
    ids=["all old pods go", "one is still counted", "one is still there", "then the new ones come"],
)
def test_recreate_waits_for_old_pods(sets: list[Obj], running: set[str], expected: dict[str, int]) -> None:
    deployment = a_deployment(strategy={"type": "Recreate"})
    assert sizes(plan(Observed(deployment, tuple(sets), frozenset(running)), NOW)) == expected


@pytest.mark.parametrize(
    ("replicas", "sets", "expected"),
    [
        (6, [a_set("old", 4)], {"old": 6}),
        (8, [a_set("old", 3), a_set("new", 2, 0, image="two")], {"old": 5, "new": 4}),
        (2, [a_set("old", 3), a_set("new", 2, 0, image="two")], {"old": 2, "new": 1}),
        (0, [a_set("old", 3), a_set("new", 2, 0, image="two")], {"old": 0, "new": 0}),
    ],
    ids=["one in use takes it all", "up in proportion", "down in proportion", "to nothing"],
)
def test_scaling_keeps_the_proportions_of_a_rollout(replicas: int, sets: list[Obj], expected: dict[str, int]) -> None:
    decided = plan(Observed(a_deployment(replicas), tuple(sets)), NOW)
    assert sizes(decided) == expected
    assert all(change.annotations[DESIRED] == str(replicas) for change in decided.changes if change.size)


def test_a_paused_deployment_makes_no_new_replica_set_but_scales() -> None:
    decided = plan(Observed(a_deployment(6, paused=True), (a_set("old", 4),)), NOW)
    assert sizes(decided) == {"old": 6}
    progressing = next(c for c in decided.status["conditions"] if c["type"] == "Progressing")
    assert (progressing["status"], progressing["reason"]) == ("Unknown", "DeploymentPaused")


def test_only_the_newest_unused_replica_sets_are_kept() -> None:
    done = {"replicas": 4, "updatedReplicas": 4, "availableReplicas": 4, "observedGeneration": 2}
    old = [a_set(f"old-{number}", 0, revision=str(number)) for number in range(1, 6)]
    busy = a_set("busy", 0, revision="0", replicas=1)
    new = a_set("new", 4, image="two", revision="6")
    decided = plan(Observed(a_deployment(status=done), (*old, busy, new)), NOW)
    assert [obj["metadata"]["name"] for obj in decided.forget] == ["old-1", "old-2", "old-3"]


def test_a_deployment_that_is_being_deleted_changes_nothing() -> None:
    deployment = a_deployment()
    deployment["metadata"]["deletionTimestamp"] = ago(0)
    decided = plan(Observed(deployment, (a_set("old", 4),)), NOW)
    assert (decided.create, decided.changes, decided.forget) == (None, (), ())


def test_annotations_of_the_deployment_are_copied_but_for_its_own() -> None:
    deployment = a_deployment()
    deployment["metadata"]["annotations"] = {
        "note": "x",
        REVISION: "9",
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
    }
    made = plan(Observed(deployment), NOW).create
    assert made is not None
    assert made["metadata"]["annotations"] == {"note": "x", REVISION: "1", DESIRED: "4", MAX: "5"}


def test_the_hash_differs_after_a_collision_and_fits_in_a_name() -> None:
    first = plan(Observed(a_deployment()), NOW).create
    deployment = a_deployment()
    deployment["status"] = collided(deployment)
    second = plan(Observed(deployment), NOW).create
    assert first is not None
    assert second is not None
    assert first["metadata"]["name"] != second["metadata"]["name"]
    deployment["metadata"]["name"] = "w" * 253
    long = plan(Observed(deployment), NOW).create
    assert long is not None
    assert len(long["metadata"]["name"]) == 253


def test_a_replica_set_that_cannot_be_made_is_reported() -> None:
    found = failed_to_create(a_deployment(), "no room", NOW)["conditions"][0]
    assert (found["type"], found["status"], found["reason"]) == ("Progressing", "False", "ReplicaSetCreateError")


@pytest.mark.parametrize(
    ("rolling", "replicas", "expected"),
    [
        ({"maxSurge": "25%", "maxUnavailable": "25%"}, 3, (1, 0)),
        ({"maxSurge": "25%", "maxUnavailable": "25%"}, 10, (3, 2)),
        ({"maxSurge": 0, "maxUnavailable": "1%"}, 10, (0, 1)),
        ({"maxSurge": 2, "maxUnavailable": 0}, 10, (2, 0)),
    ],
)
def test_surge_rounds_up_and_unavailability_down(rolling: Obj, replicas: int, expected: tuple[int, int]) -> None:
    assert fence_posts(rolling, replicas) == expected


def test_percentages_of_a_whole() -> None:
    assert resolved("50%", 3, round_up=True) == 2
    assert resolved("50%", 3, round_up=False) == 1
    assert resolved(7, 3, round_up=True) == 7
