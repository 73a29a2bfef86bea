# SPDX-License-Identifier: Apache-2.0
"""Whose pods are whose, and what is remembered until the cache shows it."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest
from tests.unit.local.controller_manager.workloads.builders import NOW, a_pod, a_replica_set

from springtide.kube.cache import Cache
from springtide.kube.errors import Forbidden
from springtide.kube.resources import Key, Obj
from springtide.local.controller_manager.selection.ownership import Claim, claim_on, selector_of
from springtide.local.controller_manager.status_writes import OwnWrites
from springtide.local.controller_manager.views import PodView
from springtide.local.controller_manager.workloads.pod_control import Expectations, belonging, slow_start
from springtide.local.kinds.label_selectors import NOTHING

SELECTOR = selector_of({"matchLabels": {"app": "web"}})


@pytest.mark.parametrize(
    ("pod", "owner_leaves", "expected"),
    [
        (a_pod(owner="uid-web-1"), False, Claim.KEEP),
        (a_pod(owner="uid-web-1", labels={}), False, Claim.RELEASE),
        (a_pod(owner="uid-web-1", labels={}), True, Claim.IGNORE),
        (a_pod(), False, Claim.ADOPT),
        (a_pod(), True, Claim.IGNORE),
        (a_pod(deleting=True), False, Claim.IGNORE),
        (a_pod(labels={}), False, Claim.IGNORE),
        (a_pod(owner="somebody"), False, Claim.IGNORE),
    ],
    ids=[
        "mine and matching",
        "mine but no longer matching",
        "mine but I am going",
        "nobody's and matching",
        "nobody's but I am going",
        "nobody's but going",
        "nobody's and not matching",
        "another's",
    ],
)
def test_pods_are_kept_adopted_or_released(pod: PodView, owner_leaves: bool, expected: Claim) -> None:
    assert claim_on(a_replica_set("web-1", deleting=owner_leaves), SELECTOR, belonging(pod)) is expected


def test_a_selector_that_cannot_be_understood_selects_nothing() -> None:
    assert selector_of({"matchExpressions": [{"key": "a", "operator": "Like"}]}) is NOTHING
    assert selector_of(None) is NOTHING


def test_made_pods_are_awaited_until_they_appear() -> None:
    cache: Cache[PodView] = Cache()
    expected = Expectations(cache)
    pod = a_pod("a")
    assert expected.wait("me", NOW) == 0
    expected.made("me", pod.key, pod.uid, NOW)
    assert expected.wait("me", NOW) == 300
    assert expected.wait("you", NOW) == 0
    cache.put(pod.key, "1", pod)
    assert expected.wait("me", NOW) == 0


def test_deleted_pods_are_awaited_until_they_go() -> None:
    cache: Cache[PodView] = Cache()
    expected = Expectations(cache)
    for name in "abc":
        cache.put(Key("default", name), "1", a_pod(name))
        expected.deleted("me", Key("default", name), f"uid-{name}", NOW)
    cache.remove(Key("default", "a"))
    cache.put(Key("default", "b"), "2", a_pod("b", deleting=True))
    assert expected.wait("me", NOW)
    cache.put(Key("default", "c"), "2", msgspec.structs.replace(a_pod("c"), metadata=a_pod("other").metadata))
    assert expected.wait("me", NOW) == 0


def test_nothing_is_awaited_for_ever() -> None:
    expected = Expectations(Cache())
    expected.made("me", Key("default", "a"), "uid-a", NOW)
    assert expected.wait("me", NOW + timedelta(minutes=5)) == 0
    expected.made("me", Key("default", "a"), "uid-a", NOW)
    expected.forget("me")
    assert expected.wait("me", NOW) == 0


async def test_pods_are_made_in_growing_batches_until_one_fails() -> None:
    tried: list[Obj] = []

    async def one(pod: Obj) -> Forbidden | None:
        tried.append(pod)
        return Forbidden("quota") if len(tried) == 3 else None

    outcome = await slow_start([{"number": number} for number in range(20)], one)
    assert len(tried) == 3
    assert (outcome.done, str(outcome.error)) == (2, "quota")
    assert (await slow_start([{}] * 20, one)).done == 20


def test_a_cache_shows_our_writes_when_it_is_as_new() -> None:
    def version(number: int) -> Obj:
        return {"metadata": {"namespace": "default", "name": "a", "resourceVersion": str(number)}}

    writes = OwnWrites()
    assert writes.shown_by(version(1))
    writes.note(version(10))
    assert not writes.shown_by(version(9))
    assert writes.shown_by(version(10))
    writes.forget(Key("default", "a"))
    assert writes.shown_by(version(1))
