# SPDX-License-Identifier: Apache-2.0
"""What kube-apiserver 1.36.3 answered to sequences of writes, replayed through this room.

`recorded.json` holds the requests and the answers. What a request does is taken from here; defaults, allocation and
admission are taken from the recorded answer, so each step starts from the real server's state.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.local.patches.shapes import node_of

from springtide.local.patches import apply, json_patch, merge_patch, strategic
from springtide.local.patches.field_sets import excluding
from springtide.local.patches.managed_fields import Writer, settle, track
from springtide.local.status import StatusError

Obj = dict[str, Any]
RECORDED: dict[str, list[Obj]] = json.loads(Path(__file__).with_name("recorded.json").read_text())
STEPS = [
    pytest.param(name, index, id=f"{name}, step {index}")
    for name, steps in RECORDED.items()
    for index in range(len(steps))
]

STATUS_DOOR = {
    "Deployment": excluding("spec", "metadata.labels"),
    "Pod": excluding("spec", "metadata.deletionTimestamp", "metadata.ownerReferences"),
    "Wid": excluding("spec", "metadata"),
}
# Set after the write was tracked, by admission or by the strategy on create: field paths, and labels of their making.
LATER = {
    "Pod": (
        "spec.tolerations",
        "spec.priority",
        "spec.preemptionPolicy",
        "spec.serviceAccount",
        "spec.serviceAccountName",
    ),
    "Service": ("spec.clusterIPs", "spec.ipFamilies", "spec.ipFamilyPolicy"),
    "PersistentVolumeClaim": ("metadata.finalizers",),
    "PersistentVolume": ("metadata.finalizers",),
    "Namespace": ("spec.finalizers",),
    "Job": ("spec.selector",),
}
LATER_LABELS = ("controller-uid", "job-name")


def the_step(name: str, index: int) -> tuple[Obj | None, Obj]:
    """The object before the step, and the step."""
    before = None
    for step in RECORDED[name][:index]:
        if step["code"] < 300:
            before = step["answer"]
    step = RECORDED[name][index]
    return copy.deepcopy(step.get("before", before)), copy.deepcopy(step)


def the_writer(step: Obj, obj: Obj) -> Writer:
    entries = step["answer"].get("metadata", {}).get("managedFields", [])
    subresource = step.get("subresource", "")
    return Writer(
        step["manager"],
        obj["apiVersion"],
        max((entry.get("time", "") for entry in entries), default="2026-01-01T00:00:00Z"),
        kind=obj["kind"],
        subresource=subresource,
        reset=STATUS_DOOR[obj["kind"]] if subresource else excluding("status"),
    )


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_nulls(part) for name, part in value.items() if part is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def bare(obj: Obj) -> Obj:
    """Without what the server counts and allocates."""
    obj = without_nulls(obj)
    gone = ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "namespace")
    return {**obj, "metadata": {name: value for name, value in obj["metadata"].items() if name not in gone}}


def holds(whole: Any, part: Any) -> bool:
    """Whether `whole` is `part` plus defaults, less empty containers."""
    if isinstance(part, dict):
        part = {name: value for name, value in part.items() if value not in ({}, []) or name in whole}
        return isinstance(whole, dict) and all(
            name in whole and holds(whole[name], value) for name, value in part.items()
        )
    if isinstance(part, list):
        return isinstance(whole, list) and len(whole) == len(part) and all(map(holds, whole, part))
    return bool(whole == part)


def patched(before: Obj, step: Obj) -> Any:
    if step["verb"] == "JP":
        return json_patch.apply(before, step["body"])
    if step["verb"] == "SP":
        return strategic.apply(before, step["body"], node_of(before))
    return merge_patch.apply(before, step["body"])


@pytest.mark.parametrize(("name", "index"), STEPS)
def test_a_write_is_answered_as_the_real_server_answers_it(name: str, index: int) -> None:
    before, step = the_step(name, index)
    if step["verb"] == "AP":
        check_apply(before, step)
    else:
        check_update(before, step)


def check_apply(before: Obj | None, step: Obj) -> None:
    body, answer = step["body"], step["answer"]
    untouched = copy.deepcopy(before)
    try:
        result = apply.apply(before, body, node_of(body), the_writer(step, body), force=step.get("force", False))
    except StatusError as error:
        refusal = {"reason": error.reason, "message": error.message, "details": error.details, "code": error.code}
        if answer["code"] == 500:  # here it is the request that is wrong, not the server: docs/differences.md
            answer = answer | {"code": 400, "reason": "BadRequest"}
        assert sorted_causes({name: value for name, value in refusal.items() if value}) == sorted_causes(answer)
        return
    assert before == untouched
    if step["code"] == 422:  # refused later, by validation
        return
    if step["code"] < 300 and not step.get("subresource"):
        result.pop("status", None)
        assert holds(bare(answer), bare(result))
    assert result["metadata"].get("managedFields") == answer["metadata"].get("managedFields")


def take_back(new: Obj) -> None:
    """Undoes what happens to a new object after its writer was noted."""
    for path in LATER.get(new["kind"], ()):
        section, name = path.split(".")
        new[section].pop(name, None)
    if new["kind"] == "Job":
        for labels in (new["metadata"]["labels"], new["spec"]["template"]["metadata"]["labels"]):
            for name in [name for name in labels if name.endswith(LATER_LABELS)]:
                del labels[name]


def sorted_causes(refusal: Obj) -> Obj:
    """The real server lists managers and bad fields in no particular order."""
    causes = refusal.get("details", {}).get("causes")
    message = sorted(refusal["message"].splitlines())
    return {**refusal, "message": message, "details": causes and sorted(causes, key=str)}


def check_update(before: Obj | None, step: Obj) -> None:
    answer = step["answer"]
    new = copy.deepcopy(answer)
    new["metadata"].pop("managedFields", None)
    if before is None:
        take_back(new)
    if step["verb"] in ("POST", "PUT"):
        sent = step["body"]["metadata"].get("managedFields")
    else:
        assert before is not None
        result = patched(before, step)
        sent = result["metadata"].get("managedFields")
        if not step.get("subresource"):
            result.pop("status", None)
            assert holds(bare(answer), bare(result))
    if sent is not None:
        new["metadata"]["managedFields"] = sent
    track(before, new, node_of(answer), the_writer(step, answer))
    if before is not None:
        settle(before, new)
    assert new["metadata"].get("managedFields") == answer["metadata"].get("managedFields")
