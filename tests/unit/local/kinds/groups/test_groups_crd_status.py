# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

from springtide.local.kinds.groups.apiextensions import CUSTOM_RESOURCE_DEFINITION, established, is_established

NOW, LATER = "2026-11-16T02:00:00Z", "2026-11-16T03:00:00Z"


def a_crd(plural: str = "bars", kind: str = "Bar", **names: Any) -> dict[str, Any]:
    crd: dict[str, Any] = {
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"plural": plural, "kind": kind, **names},
            "versions": [{"name": "v1", "served": True, "storage": True}],
        },
    }
    CUSTOM_RESOURCE_DEFINITION.default(crd)
    CUSTOM_RESOURCE_DEFINITION.prepare_create(crd)
    return crd


def an_established_crd(plural: str = "bars", kind: str = "Bar", **names: Any) -> dict[str, Any]:
    crd = a_crd(plural, kind, **names)
    return crd | {"status": established(crd, NOW, [])}


def conditions(status: dict[str, Any]) -> dict[str, tuple[str, str, str]]:
    return {one["type"]: (one["status"], one["reason"], one["message"]) for one in status["conditions"]}


def test_a_crd_whose_names_are_free_is_established() -> None:
    crd = a_crd(shortNames=["bb"], categories=["all"])
    status = established(crd, NOW, [])
    assert status == {
        "conditions": [
            {
                "type": "NamesAccepted",
                "status": "True",
                "lastTransitionTime": NOW,
                "reason": "NoConflicts",
                "message": "no conflicts found",
            },
            {
                "type": "Established",
                "status": "True",
                "lastTransitionTime": NOW,
                "reason": "InitialNamesAccepted",
                "message": "the initial names have been accepted",
            },
        ],
        "acceptedNames": {
            "plural": "bars",
            "singular": "bar",
            "shortNames": ["bb"],
            "kind": "Bar",
            "listKind": "BarList",
            "categories": ["all"],
        },
        "storedVersions": ["v1"],
    }
    assert is_established(crd | {"status": status})


def test_looking_again_changes_nothing() -> None:
    crd = an_established_crd()
    assert established(crd, LATER, [crd]) == crd["status"]


def test_a_crd_whose_kind_is_taken_waits() -> None:
    first, second = an_established_crd(), a_crd("bars2", "Bar", singular="bar2")
    status = established(second, NOW, [first, second])
    assert conditions(status) == {
        "NamesAccepted": ("False", "ListKindConflict", '"BarList" is already in use'),
        "Established": ("False", "NotAccepted", "not all names are accepted"),
    }
    assert status["acceptedNames"] == {"plural": "bars2", "singular": "bar2", "kind": ""}


def test_a_crd_that_waited_gets_its_names_when_they_are_free() -> None:
    first, second = an_established_crd(), a_crd("bars2", "Bar", singular="bar2")
    second["status"] = established(second, NOW, [first])
    status = established(second, LATER, [second])
    assert conditions(status)["Established"][0] == "True"
    assert {one["lastTransitionTime"] for one in status["conditions"]} == {LATER}


def test_an_established_crd_stays_so_when_it_asks_for_a_taken_short_name() -> None:
    first, second = an_established_crd(shortNames=["b"]), an_established_crd("foos", "Foo")
    second["spec"]["names"]["shortNames"] = ["f", "b"]
    status = established(second, LATER, [first])
    assert conditions(status)["NamesAccepted"] == ("False", "ShortNamesConflict", '"b" is already in use')
    assert conditions(status)["Established"][0] == "True"
    assert "shortNames" not in status["acceptedNames"]


def test_names_in_another_group_do_not_matter() -> None:
    first, second = an_established_crd(), a_crd()
    first["spec"]["group"] = "other.com"
    first["metadata"]["name"] = "bars.other.com"
    assert conditions(established(second, NOW, [first]))["Established"][0] == "True"


def test_a_format_nobody_checks_is_worth_a_warning() -> None:
    crd = a_crd()
    properties = {
        "email": {"type": "string", "format": "email"},
        "when": {"type": "string", "format": "date-time"},
        "size": {"type": "integer", "format": "int64"},
        "colour": {"type": "array", "items": {"type": "string", "format": "colour"}},
    }
    crd["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": {"type": "object", "properties": properties}}
    assert CUSTOM_RESOURCE_DEFINITION.warnings(crd) == ['unrecognized format "colour"']
