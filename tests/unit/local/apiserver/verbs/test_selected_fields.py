# SPDX-License-Identifier: Apache-2.0
"""Field selectors read the few fields they ask for, once for all watches."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.unit.local.apiserver.builders import a_custom_resource, a_record, a_resource, registry

from springtide.local.apiserver.encoding import objects
from springtide.local.apiserver.registry.resources import Resource
from springtide.local.apiserver.verbs import selected_fields
from springtide.local.apiserver.verbs.selected_fields import Parts, field_values
from springtide.local.apiserver.verbs.selecting import predicate
from springtide.local.store.backend import Record

PODS = a_resource("pods")


def a_large_pod() -> Record:
    variables = [{"name": f"V{number}", "value": "x" * 30} for number in range(8000)]
    spec = {"nodeName": "n", "containers": [{"name": "c", "env": variables}]}
    status = {"phase": "Running", "podIPs": [{"ip": "10.0.0.1"}, {"ip": "::1"}], "podIP": "10.0.0.1"}
    return a_record(PODS, "p", "ns", spec=spec, status=status)


def test_ten_watches_decode_a_change_once_and_not_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[bytes] = []
    whole: list[Record] = []

    def load(record: Record, resource: Resource) -> Any:
        whole.append(record)
        return objects.load(record, resource)

    def parts(encoded: bytes) -> Parts:
        read.append(encoded)
        return Parts(msgspec.json.decode(encoded, type=dict[str, msgspec.Raw]))

    monkeypatch.setattr(selected_fields, "load", load)
    monkeypatch.setattr(Parts, "of", parts)
    record = a_large_pod()
    names = ["n", "m"] * 4
    watches = [predicate(PODS, "", f"spec.nodeName={name},status.phase=Running") for name in names]
    watches += [predicate(PODS, "", "status.podIPs=10.0.0.1\\,::1"), predicate(PODS, "", "spec.hostNetwork=false")]
    found = [wanted is not None and wanted(record) for wanted in watches]
    assert found == [True, False] * 4 + [True, True]
    assert not whole
    assert len(read) == 3  # the pod, its spec and its status


@pytest.mark.parametrize(
    "part", [{}, {"spec": None, "status": None}, {"spec": {"nodeName": None}}, {"status": {"podIPs": None}}], ids=str
)
def test_parts_give_what_whole_objects_give(part: dict[str, Any]) -> None:
    resources = [resource for resource in registry().all() if resource.strategy.fields]
    assert len(resources) > 5
    for resource in resources:
        record = a_record(resource, "p", "ns", **part)
        whole = objects.load(record, resource)
        expected = {name: read(whole) for name, read in resource.strategy.fields.items()}
        assert field_values(record, resource) == expected
        assert field_values(record, resource) == expected


def test_another_definition_of_a_kind_reads_anew() -> None:
    boat = {"color": "red", "size": 3, "sails": True}
    by_color, by_size = (
        a_custom_resource(selectableFields=[{"jsonPath": f".spec.{name}"} for name in names])
        for names in (["color", "sails"], ["size"])
    )
    record = a_record(by_color, "b", "ns", spec=boat)
    assert field_values(record, by_color) == {"spec.color": "red", "spec.sails": "true"}
    assert field_values(record, by_size) == {"spec.size": "3"}


def test_long_values_are_not_kept() -> None:
    boats = a_custom_resource(selectableFields=[{"jsonPath": ".spec.color"}])
    record = a_record(boats, "b", "ns", spec={"color": "x" * 100_000})
    assert field_values(record, boats) == {"spec.color": "x" * 100_000}
    assert record.fields is None
