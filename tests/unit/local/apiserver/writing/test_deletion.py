# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from tests.unit.local.apiserver.builders import a_resource

from springtide.local.apiserver.verbs.options import DeleteOptions
from springtide.local.apiserver.writing.deletion import mark
from springtide.local.kinds.metadata import FOREGROUND, ORPHAN

NOW, SOON, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:00:05Z", "2026-01-01T00:01:00Z"


def an_object(*finalizers: str, **meta: Any) -> dict[str, Any]:
    return {"metadata": {"name": "x"} | ({"finalizers": list(finalizers)} if finalizers else {}) | meta}


def a_pod(node: str = "n", phase: str = "Running", **meta: Any) -> dict[str, Any]:
    spec = {"nodeName": node, "terminationGracePeriodSeconds": 60}
    return an_object(**meta) | {"spec": spec, "status": {"phase": phase}}


def test_an_object_that_nothing_holds_goes_at_once() -> None:
    assert mark(an_object(), a_resource("configmaps"), DeleteOptions(), NOW)


def test_a_finalizer_holds_it() -> None:
    obj = an_object("a/b", generation=1)
    assert not mark(obj, a_resource("deployments", "apps"), DeleteOptions(), NOW)
    stamped = {"deletionTimestamp": NOW, "deletionGracePeriodSeconds": 0, "generation": 2}
    assert obj["metadata"] == {"name": "x", "finalizers": ["a/b"]} | stamped


@pytest.mark.parametrize(
    ("before", "policy", "after"),
    [
        ([], "Orphan", [ORPHAN]),
        ([], "Foreground", [FOREGROUND]),
        (["a/b", ORPHAN], "Background", ["a/b"]),
        ([ORPHAN], "Foreground", [FOREGROUND]),
        ([FOREGROUND], "", [FOREGROUND]),
        (["a/b"], "", ["a/b"]),
    ],
)
def test_a_policy_becomes_a_finalizer(before: list[str], policy: str, after: list[str]) -> None:
    obj = an_object(*before)
    mark(obj, a_resource("deployments", "apps"), DeleteOptions(policy=policy), NOW)
    assert obj["metadata"]["finalizers"] == after


def test_a_job_lets_its_pods_live_unless_told_otherwise() -> None:
    obj = an_object()
    assert not mark(obj, a_resource("jobs", "batch"), DeleteOptions(), NOW)
    assert obj["metadata"]["finalizers"] == [ORPHAN]
    assert mark(an_object(), a_resource("jobs", "batch"), DeleteOptions(policy="Background"), NOW)


def test_policies_mean_nothing_to_an_event() -> None:
    assert mark(an_object(), a_resource("events"), DeleteOptions(policy="Foreground"), NOW)


@pytest.mark.parametrize(
    ("pod", "wanted", "grace", "gone"),
    [
        (a_pod(), None, 60, False),
        (a_pod(), 5, 5, False),
        (a_pod(), 0, 0, True),
        (a_pod(), -3, 1, False),
        (a_pod(node=""), None, 0, True),
        (a_pod(phase="Succeeded"), 30, 0, True),
        (a_pod(phase="Failed"), None, 0, True),
    ],
    ids=["its own", "the wish", "forced", "below nothing", "no node", "succeeded", "failed"],
)
def test_a_pod_is_given_time(pod: dict[str, Any], wanted: int | None, grace: int, gone: bool) -> None:
    assert mark(pod, a_resource("pods"), DeleteOptions(wanted), NOW) is gone
    assert pod["metadata"]["deletionGracePeriodSeconds"] == grace


@pytest.mark.parametrize(
    ("wanted", "ends"), [(5, SOON), (60, LATER), (90, LATER), (None, LATER), (0, NOW)],
    ids=["shorter", "the same", "longer", "no wish", "forced"],
)  # fmt: skip
def test_a_second_deletion_may_only_shorten_the_time(wanted: int | None, ends: str) -> None:
    pod = a_pod(generation=1)
    mark(pod, a_resource("pods"), DeleteOptions(60), NOW)
    pod["spec"]["terminationGracePeriodSeconds"] = 30
    gone = mark(pod, a_resource("pods"), DeleteOptions(wanted), SOON)
    assert (pod["metadata"]["deletionTimestamp"], pod["metadata"]["generation"], gone) == (ends, 2, wanted == 0)


def test_a_namespace_waits_until_it_is_empty() -> None:
    space = an_object() | {"spec": {"finalizers": ["kubernetes"]}}
    assert not mark(space, a_resource("namespaces"), DeleteOptions(), NOW)
    assert space["status"] == {"phase": "Terminating"}
    assert space["metadata"] == {"name": "x", "deletionTimestamp": NOW}
    assert not mark(space, a_resource("namespaces"), DeleteOptions(), LATER)
    assert space["metadata"]["deletionTimestamp"] == NOW
