# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.local.apiserver.builders import a_crd

from springtide.local.apiserver.registry import definition_names
from springtide.local.apiserver.registry.definition_names import DefinitionNames
from springtide.local.kinds.groups.apiextensions import established
from springtide.local.store.backend import Key, Record

NOW = "2026-01-01T00:00:00Z"


def a_record(plural: str, revision: int, **status: Any) -> Record:
    body = a_crd(plural) | {"status": status}
    return Record(Key("customresourcedefinitions", "", body["metadata"]["name"]), revision, json.dumps(body).encode())


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Bodies in the order in which they were decoded."""
    bodies: list[bytes] = []
    decode = definition_names._decode

    def counted(body: bytes) -> Any:
        bodies.append(body)
        return decode(body)

    monkeypatch.setattr(definition_names, "_decode", counted)
    return bodies


def test_each_revision_is_decoded_once_however_often_names_are_read(decoded: list[bytes]) -> None:
    names, records = DefinitionNames(), [a_record(f"boats{number}", number) for number in range(100)]
    for _ in range(100):
        assert len(names.of(records)) == 100
    assert len(decoded) == 100
    records[7] = a_record("boats7", 1000)
    names.of(records)
    assert decoded[100:] == [records[7].body]


def test_a_definition_that_is_gone_holds_no_names() -> None:
    names, record = DefinitionNames(), a_record("boats", 1)
    assert len(names.of([record])) == 1
    assert names.of([]) == []


def test_a_name_that_another_definition_holds_is_not_given_away() -> None:
    held = DefinitionNames().of([a_record("boats", 1, acceptedNames={"plural": "boats", "kind": "Ship"})])
    crd = a_crd("ships")
    crd["spec"]["names"]["shortNames"] = []
    conditions = established(crd, NOW, held)["conditions"]
    assert [(one["type"], one["status"]) for one in conditions] == [
        ("NamesAccepted", "False"),
        ("Established", "False"),
    ]
