# SPDX-License-Identifier: Apache-2.0
"""Scalers take their turns one at a time, in the order in which they were created."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest
from tests.unit.jobs.builders import running
from tests.unit.jobs.scaling.builders import end, scalable, types
from tests.unit.jobs.simulated import START, Cluster, Conflict

from springtide.api.kinds.conditions import Condition, condition
from springtide.api.kinds.scalers import ScalerStatus
from springtide.jobs.actions import ScalerStatusPatch
from springtide.jobs.scaling import advancing, phases, turns
from springtide.jobs.scaling.phases import ScalerPhase
from springtide.jobs.scaling.scaler import Scaler

MOST = 6


def waits(cluster: Cluster, uid: str) -> str:
    found = condition(cluster.scalers[uid].status.conditions, "Created")
    return found.message if found is not None else ""


def at(seconds: int, name: str, kind: str = "ScaleOut") -> Scaler:
    return Scaler(kind, name, uid=f"{kind}-{name}", created=START + timedelta(seconds=seconds))


def test_the_order_is_by_creation_then_name_then_kind() -> None:
    given = [at(1, "a"), at(0, "b"), at(0, "a"), at(0, "a", "ScaleIn")]
    assert [each.uid for each in turns.pending(given, None)] == ["ScaleIn-a", "ScaleOut-a", "ScaleOut-b", "ScaleOut-a"]


def test_a_scaler_waits_until_its_job_runs_and_says_so() -> None:
    cluster = scalable(3)
    first, second = cluster.scale("ScaleOut", "first", count=1), cluster.scale("ScaleIn", "second", count=1)
    cluster.reconcile()
    assert waits(cluster, first) == "ScaleOut first waits until the launcher of MPIJob ns/pi runs"
    assert waits(cluster, second) == "ScaleIn second waits for ScaleOut first, which comes before it"
    cluster.settle(10)
    assert [end(each).partition(":")[0] for each in cluster.scalers.values()] == ["ScaleSucceeded"] * 2


def test_a_message_names_the_scaler_directly_before() -> None:
    cluster = running(scalable(3))
    cluster.capacity = 3
    first, second, third = (cluster.scale("ScaleOut", name, count=1) for name in ("a", "b", "c"))
    for _ in range(5):
        cluster.tick(1)
        cluster.reconcile()
    assert types(cluster.scalers[first])[-1] == "Scaling"
    assert waits(cluster, second) == "ScaleOut b waits for ScaleOut a, which comes before it"
    assert waits(cluster, third) == "ScaleOut c waits for ScaleOut b, which comes before it"
    cluster.cancel(second)
    cluster.reconcile()
    assert waits(cluster, third) == "ScaleOut c waits for ScaleOut a, which comes before it"


def test_messages_do_not_all_change_at_each_step() -> None:
    cluster = running(scalable(3))
    uids = [cluster.scale("ScaleOut" if number % 2 else "ScaleIn", f"s{number:02}", count=1) for number in range(10)]
    cluster.reconcile()
    before = {uid: waits(cluster, uid) for uid in uids}
    cluster.settle(10)
    assert {uid: waits(cluster, uid) for uid in uids} == before


def test_a_scaler_that_is_created_later_with_an_earlier_name_waits_for_the_one_in_progress() -> None:
    cluster = running(scalable(3))
    cluster.capacity = 3
    first = cluster.scale("ScaleOut", "b", count=1)
    cluster.reconcile()
    cluster.reconcile()
    second = cluster.scale("ScaleOut", "a", count=1)
    cluster.reconcile()
    assert types(cluster.scalers[first])[-1] == "Scaling"
    assert waits(cluster, second) == "ScaleOut a waits for ScaleOut b, which comes before it"


def test_a_second_one_that_a_stale_operator_started_ends() -> None:
    cluster = running(scalable(3))
    cluster.capacity = 3
    first = cluster.scale("ScaleOut", "b", count=1)
    cluster.reconcile()
    cluster.reconcile()
    second = cluster.scale("ScaleOut", "a", count=1)
    started = replace(cluster.scalers[first], name="a", uid=second, created=START)
    cluster.scalers[second] = started
    cluster.reconcile()
    assert end(cluster.scalers[second]) == (
        "ScaleFailed: Another scaler of the job is in progress; create the ScaleOut again"
    )
    assert cluster.snapshot.scaler is not None
    assert cluster.snapshot.scaler.uid == first


def test_a_stale_plan_does_not_change_a_scaler() -> None:
    cluster = running(scalable(3))
    uid = cluster.scale("ScaleOut", "a", count=1)
    stale = cluster.plan()
    cluster.reconcile()
    with pytest.raises(Conflict):
        cluster.act(stale.actions)
    assert types(cluster.scalers[uid]) == ["Created"]


def test_a_scaler_that_et_operator_left_in_progress_is_started_again() -> None:
    cluster = running(scalable(3))
    uid = cluster.scale("ScaleOut", "old", count=1, script="/s")
    old = tuple(
        Condition(type=each, status="True", last_transition_time=START)
        for each in ("Created", "Scaling", "ScriptExecuted")
    )
    cluster.scalers[uid] = replace(cluster.scalers[uid], status=ScalerStatus(phase="Scaling", conditions=old))
    cluster.reconcile()
    cluster.reconcile()
    found = cluster.scalers[uid]
    assert (types(found), found.status.target_size) == (["Created", "Scaling"], 4)
    assert found.status.conditions[-1].last_transition_time == cluster.now


def test_more_scalers_than_one_plan_writes_are_accepted_by_the_next() -> None:
    cluster = running(scalable(3))
    for number in range(advancing.MOST_AT_ONCE + 20):
        cluster.scale("ScaleOut", f"s{number:03}", count=0)
    patches = [each for each in cluster.plan().actions if isinstance(each, ScalerStatusPatch)]
    assert len(patches) == advancing.MOST_AT_ONCE
    cluster.reconcile()
    cluster.reconcile()
    assert all(types(each) for each in cluster.scalers.values())


def concurrent(cluster: Cluster, seed: int) -> list[str]:
    """50 scalers out and in, by number and by name, some of which are not possible."""
    random, uids = Random(seed), []
    for number in range(50):
        kind = random.choice(["ScaleOut", "ScaleIn"])
        names = (f"pi-worker-{random.randrange(12)}",) if kind == "ScaleIn" and random.random() < 0.3 else ()
        timeout = timedelta(seconds=random.choice([20, 60]))
        uids.append(cluster.scale(kind, f"s{number:02}", count=random.randint(1, 3), pod_names=names, timeout=timeout))
    return uids


@pytest.mark.parametrize("seed", range(4))
def test_fifty_concurrent_scalers_end_in_order_though_the_operator_dies_after_every_action(seed: int) -> None:
    random = Random(seed)
    cluster = running(scalable(3, (2, MOST)))
    cluster.capacity = 5 if seed % 2 else None
    uids = concurrent(cluster, seed)
    ended: list[str] = []
    size = cluster.size
    for _ in range(9000):
        cluster.reconcile(random.randint(1, 9) if random.random() < 0.8 else None)
        cluster.tick(random.choice([0, 1, 1, 5]))
        now = [uid for uid in uids if phases.of(cluster.scalers[uid].status).ended and uid not in ended]
        assert len(now) <= 1
        for uid in now:
            status = cluster.scalers[uid].status
            if phases.of(status) is ScalerPhase.SUCCEEDED:
                assert (status.start_size, status.target_size) == (size, cluster.size)
                size = cluster.size
            ended.append(uid)
        assert cluster.size == size or cluster.snapshot.scaler is not None
        assert 2 <= cluster.size <= MOST
        assert 2 <= len(cluster.listed()) <= MOST
        assert len(cluster.snapshot.ledger.members) <= MOST
        assert sum(phases.of(each.status).in_progress for each in cluster.scalers.values()) <= 1
        if len(ended) == len(uids):
            break
    assert ended == uids
    assert {phases.of(each.status) for each in cluster.scalers.values()} == {ScalerPhase.SUCCEEDED, ScalerPhase.FAILED}
    cluster.settle()
    assert cluster.workers() == sorted(cluster.listed())
    assert len(cluster.workers()) == cluster.size


@pytest.mark.parametrize("kind", ["ScaleOut", "ScaleIn"])
@pytest.mark.parametrize("action", range(25))
def test_an_operator_may_die_after_any_action_of_a_scaler(kind: str, action: int) -> None:
    """Counted over all plans of its life."""
    cluster = running(scalable(3))
    uid = cluster.scale(kind, "s", count=1)
    left = action
    for _ in range(60):
        made = cluster.plan()
        if 0 <= left < len(made.actions):
            cluster.act(made.actions[:left])
            left = -1
        else:
            cluster.act(made.actions)
            left -= len(made.actions) if left >= 0 else 0
        cluster.tick(1)
    assert end(cluster.scalers[uid]).startswith("ScaleSucceeded")
    assert (cluster.size, len(cluster.workers())) == ((4, 4) if kind == "ScaleOut" else (2, 2))
    told = [each.message for each in cluster.status.conditions if each.type == "ScaleSucceeded"]
    assert [each.startswith(f"{kind} s: 3 → ") for each in told] == [True]


def test_the_end_of_a_deleted_scaler_stays_on_the_job() -> None:
    cluster = running(scalable(3))
    first = cluster.scale("ScaleOut", "a", count=1)
    cluster.settle(2)
    second = cluster.scale("ScaleOut", "b", count=1)
    cluster.settle(2)
    told = condition(cluster.status.conditions, "ScaleSucceeded")
    assert told is not None
    assert told.message.startswith("ScaleOut b")
    cluster.cancel(second)
    cluster.settle(2)
    assert end(cluster.scalers[first])
    assert condition(cluster.status.conditions, "ScaleSucceeded") == told


def test_conditions_of_scalers_on_the_job_are_never_false_and_the_last_one_counts() -> None:
    cluster = running(scalable(3, (1, 4)))
    cluster.scale("ScaleOut", "a", count=1)
    cluster.settle(2)
    cluster.scale("ScaleOut", "b", count=1)
    cluster.settle(2)
    assert [each.type for each in cluster.status.conditions][-3:] == ["Scaling", "ScaleSucceeded", "ScaleFailed"]
    cluster.scale("ScaleIn", "c", count=1)
    cluster.settle(40)
    assert [each.type for each in cluster.status.conditions][-3:] == ["ScaleFailed", "Scaling", "ScaleSucceeded"]
    assert {each.status for each in cluster.status.conditions[-3:]} == {"True"}
