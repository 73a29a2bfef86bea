# SPDX-License-Identifier: Apache-2.0
"""Statuses of scalers and ledgers that another client has written: whoever may resize a job may do no more by them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from tests.unit.jobs.builders import running
from tests.unit.jobs.scaling.builders import end, members, names, scalable
from tests.unit.jobs.simulated import Cluster

from springtide.api.kinds.conditions import Condition
from springtide.api.kinds.scalers import ScalerStatus
from springtide.jobs.ledger import ANNOTATION

FAR: datetime = datetime(9998, 1, 1, tzinfo=UTC)


def true(*types: str) -> tuple[Condition, ...]:
    return tuple(Condition(type=each, status="True", message="forged") for each in types)


def forge(cluster: Cluster, uid: str, **status: Any) -> None:
    cluster.scalers[uid] = replace(cluster.scalers[uid], status=ScalerStatus(**status))


@pytest.mark.parametrize("type_", ["Succeeded", "Failed", "Running", "Suspended"])
def test_a_condition_behind_the_end_of_a_scaler_does_not_become_one_of_the_job(type_: str) -> None:
    cluster = running(scalable(3))
    before = cluster.conditions
    uid = cluster.scale("ScaleOut", "add", count=1)
    forge(cluster, uid, conditions=true("ScaleFailed", type_), completion_time=cluster.now)
    cluster.settle(1)
    assert cluster.conditions == before | {"ScaleFailed": "True"}
    assert not cluster.finished


def test_an_end_in_the_future_hides_no_later_one() -> None:
    cluster = running(scalable(3))
    uid = cluster.scale("ScaleOut", "add", count=1)
    forge(cluster, uid, conditions=true("ScaleFailed"), completion_time=FAR)
    cluster.settle(1)
    assert "ScaleFailed" not in cluster.conditions
    cluster.scale("ScaleOut", "more", count=1)
    cluster.settle(1)
    assert cluster.conditions["ScaleSucceeded"] == "True"


@pytest.mark.parametrize(
    ("kind", "sizes"),
    [
        ("ScaleOut", (3, 3)),
        ("ScaleOut", (3, 1)),
        ("ScaleOut", (1, 2)),
        ("ScaleOut", (0, 1)),
        ("ScaleOut", (3, 2**31 - 1)),
        ("ScaleIn", (1, 5)),
        ("ScaleIn", (2**31 - 1, 2)),
    ],
)
def test_sizes_that_are_not_those_of_the_scaler_fail_it_and_touch_nothing(kind: str, sizes: tuple[int, int]) -> None:
    cluster = running(scalable(3, bounds=(2, 6)))
    uid = cluster.scale(kind, "odd", count=1)
    start, target = sizes
    forge(cluster, uid, conditions=true("Created", "Scaling"), start_size=start, target_size=target)
    cluster.settle(1)
    assert end(cluster.scalers[uid]).startswith("ScaleFailed")
    assert (cluster.size, members(cluster)) == (3, names(0, 1, 2))


def test_foreign_pods_are_not_removed_and_no_end_is_waited_for() -> None:
    cluster = running(scalable(3))
    uid = cluster.scale("ScaleIn", "odd", count=1)
    foreign = ("other", "pi-launcher", "pi-worker-77")
    sizes = {"start_size": 3, "target_size": 2}
    forge(cluster, uid, conditions=true("Created", "Scaling"), to_delete_pods=foreign, **sizes)
    cluster.settle(1)
    assert end(cluster.scalers[uid]).startswith("ScaleSucceeded")
    assert members(cluster) == names(0, 1)


@pytest.mark.parametrize("joining", [[77], [1, 1, 1], list(range(5000))])
def test_a_ledger_with_other_joining_workers_keeps_no_scaler_from_its_end(joining: list[int]) -> None:
    cluster = running(scalable(3))
    uid = cluster.scale("ScaleOut", "add", count=2)
    cluster.reconcile()
    cluster.reconcile()
    config = cluster.objects[cluster.snapshot.config_key]["metadata"]["annotations"]
    ledger = msgspec.json.decode(config[ANNOTATION]) | {"joining": joining}
    config[ANNOTATION] = msgspec.json.encode(ledger).decode()
    for _ in range(3):
        cluster.now += timedelta(seconds=60)
        cluster.settle(60)
    assert end(cluster.scalers[uid])


def test_a_start_without_times_ends_at_the_timeout_from_the_creation() -> None:
    cluster = running(scalable(3))
    cluster.capacity = 3
    uid = cluster.scale("ScaleOut", "odd", count=1)
    forge(cluster, uid, conditions=true("Created", "Scaling"), start_size=3, target_size=4)
    cluster.tick(59)
    cluster.reconcile()
    assert not end(cluster.scalers[uid])
    cluster.tick(1)
    cluster.reconcile()
    assert end(cluster.scalers[uid]).startswith("ScaleFailed: 0 of 1 ready within 60 s")


ODD = "\x1b[31mred\x1b]0;x\a"


@pytest.mark.parametrize("fields", [{"pod_names": (ODD, "b\nc")}, {"count": 1, "script": f"/{ODD}"}])
def test_texts_of_users_do_not_control_terminals(fields: dict[str, Any]) -> None:
    cluster = running(scalable(3))
    uid = cluster.scale("ScaleIn", "odd", **fields)
    cluster.settle(1)
    cluster.script_ends(2, "no such file")
    cluster.settle(1)
    said = [end(cluster.scalers[uid]), *(each.message for each in cluster.scaler_events), cluster.status.explanation]
    said += [each.message for each in cluster.status.conditions]
    assert said[0].startswith("ScaleFailed")
    assert "red" in said[0]
    assert all(text.isprintable() for text in said)


def test_forged_messages_do_not_control_terminals_either() -> None:
    cluster = running(scalable(3))
    uid = cluster.scale("ScaleOut", "odd", count=1)
    forged = Condition(type="ScaleFailed", status="True", reason=ODD, message=ODD * 1000)
    forge(cluster, uid, conditions=(forged,), completion_time=cluster.now)
    cluster.settle(1)
    told = next(each for each in cluster.status.conditions if each.type == "ScaleFailed")
    assert (told.reason.isprintable(), told.message.isprintable()) == (True, True)


def test_of_many_unknown_names_the_first_are_named() -> None:
    cluster = running(scalable(3))
    uid = cluster.scale("ScaleIn", "odd", pod_names=tuple(f"x{number}" for number in range(9999)))
    cluster.settle(1)
    assert "x8, x9 and 9989 more; its workers are pi-worker-0" in end(cluster.scalers[uid])
