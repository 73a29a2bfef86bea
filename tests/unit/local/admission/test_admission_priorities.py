# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from tests.unit.local.admission.builders import World, a_pod, a_request

from springtide.local.admission.priorities import CLASSES, OneDefaultClass, PodPriority, system_classes
from springtide.local.status import StatusError


def a_class(name: str, value: int, **fields: Any) -> tuple[str, dict[str, Any]]:
    obj = {"metadata": {"name": name}, "value": value, "preemptionPolicy": "PreemptLowerPriority", **fields}
    return CLASSES, obj


SYSTEM = [(CLASSES, obj) for obj in system_classes()]


async def admitted(pod: dict[str, Any], *classes: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    await PodPriority(World(*SYSTEM, *classes)).admit(a_request(pod))
    return {key: pod["spec"].get(key) for key in ("priorityClassName", "priority", "preemptionPolicy")}


@pytest.mark.parametrize(
    ("wanted", "classes", "expected"),
    [
        ({}, [], (None, 0, "PreemptLowerPriority")),
        (
            {"priorityClassName": "system-node-critical"},
            [],
            ("system-node-critical", 2_000_001_000, "PreemptLowerPriority"),
        ),
        ({}, [a_class("usual", 7, globalDefault=True)], ("usual", 7, "PreemptLowerPriority")),
        (
            {},
            [a_class("two", 9, globalDefault=True), a_class("one", 7, globalDefault=True)],
            ("one", 7, "PreemptLowerPriority"),
        ),
        (
            {"priorityClassName": "meek", "preemptionPolicy": "Never"},
            [a_class("meek", 3, preemptionPolicy="Never")],
            ("meek", 3, "Never"),
        ),
    ],
    ids=["none", "system", "default", "two defaults", "never"],
)
async def test_the_class_settles_the_priority(
    wanted: dict[str, Any], classes: list[tuple[str, dict[str, Any]]], expected: tuple[Any, ...]
) -> None:
    assert tuple((await admitted(a_pod(**wanted), *classes)).values()) == expected


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"priorityClassName": "nope"}, 'pods "p" is forbidden: no PriorityClass with name nope was found'),
        (
            {"priorityClassName": "system-node-critical", "priority": 5},
            'pods "p" is forbidden: the integer value of priority (5) must not be provided in pod spec; '
            "priority admission controller computed 2000001000 from the given PriorityClass name",
        ),
        (
            {"preemptionPolicy": "Never"},
            'pods "p" is forbidden: the string value of PreemptionPolicy (Never) must not be provided in pod spec; '
            "priority admission controller computed PreemptLowerPriority from the given PriorityClass name",
        ),
    ],
    ids=["class", "number", "policy"],
)
async def test_a_pod_cannot_talk_itself_up(wanted: dict[str, Any], message: str) -> None:
    with pytest.raises(StatusError) as refused:
        await admitted(a_pod(**wanted))
    assert (refused.value.code, refused.value.message) == (403, message)


async def test_an_update_keeps_what_was_settled() -> None:
    new = a_pod()
    await PodPriority(World()).admit(a_request(new, operation="UPDATE", old=a_pod(priority=7)))
    assert new["spec"]["priority"] == 7


async def test_there_is_one_default_class() -> None:
    first, second = a_class("first", 1, globalDefault=True), a_class("second", 2, globalDefault=True)
    plugin = OneDefaultClass(World(first))
    fields = {"group": "scheduling.k8s.io", "resource": "priorityclasses", "kind": "PriorityClass"}
    with pytest.raises(StatusError) as refused:
        await plugin.admit(a_request(second[1], **fields))
    assert refused.value.message == (
        'priorityclasses.scheduling.k8s.io "second" is forbidden: '
        "PriorityClass first is already marked as default. Only one default can exist"
    )
    await plugin.admit(a_request(first[1], operation="UPDATE", old=first[1], **fields))
