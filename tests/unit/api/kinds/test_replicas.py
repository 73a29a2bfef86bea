# SPDX-License-Identifier: Apache-2.0
"""Roles by name in any case, as typed kinds and the CRDs' schemas have them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from springtide.api.kinds import pytorchjob, tfjob
from springtide.api.kinds.replicas import ReplicaSpec, by_role, canonical
from springtide.api.kinds.resource import Resource
from springtide.api.schema.definitions import definition

NAMES = ("Master", "PS", "Worker")
SMALL = 64 * 1024
"""Upstream's CRDs have ten times as much, which `kubectl apply` does not take."""
both = pytest.mark.parametrize(
    ("resource", "roles"),
    [(tfjob.RESOURCE, "tfReplicaSpecs"), (pytorchjob.RESOURCE, "pytorchReplicaSpecs")],
    ids=["TFJob", "PyTorchJob"],
)


def spec_of(resource: Resource) -> dict[str, Any]:
    (version,) = definition(resource)["spec"]["versions"]
    found: dict[str, Any] = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return found


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    yield schema
    for below in schema.get("properties", {}).values():
        yield from nodes(below)
    for name in ("items", "additionalProperties"):
        if name in schema:
            yield from nodes(schema[name])


@pytest.mark.parametrize("given", ["PS", "Ps", "ps", "pS"])
def test_a_role_is_known_in_any_case(given: str) -> None:
    assert canonical(given, NAMES) == "PS"


@pytest.mark.parametrize("given", ["", "P", "PSS", " PS"])
def test_other_names_are_no_roles(given: str) -> None:
    assert canonical(given, NAMES) is None


def test_roles_come_under_their_names_and_in_their_order() -> None:
    first, second, unknown = (ReplicaSpec(replicas=count) for count in (1, 2, 3))
    assert by_role({"worker": first, "Launcher": unknown, "MASTER": second}, NAMES) == {
        "Master": second,
        "Worker": first,
    }


def test_of_two_spellings_the_first_counts() -> None:
    first, second = (ReplicaSpec(replicas=count) for count in (1, 2))
    assert by_role({"ps": first, "PS": second}, NAMES) == {"PS": first}


@both
def test_the_crd_is_small(resource: Resource, roles: str) -> None:
    assert len(json.dumps(definition(resource))) < SMALL


@both
def test_every_part_of_the_schema_has_a_type(resource: Resource, roles: str) -> None:
    """A structural schema: otherwise the API server does not take the CRD."""
    assert all(node.get("type") or node.get("x-kubernetes-int-or-string") for node in nodes(spec_of(resource)))


@both
def test_a_default_run_policy_is_stored(resource: Resource, roles: str) -> None:
    """The Kubeflow SDK cannot list jobs without one."""
    assert spec_of(resource)["properties"]["runPolicy"]["default"] == {}


@both
def test_roles_are_checked_in_any_case_and_have_one_replica_by_default(resource: Resource, roles: str) -> None:
    schema = spec_of(resource)["properties"][roles]
    role = schema["additionalProperties"]
    assert spec_of(resource)["required"] == [roles]
    assert schema["minProperties"] == 1
    assert [rule["rule"] for rule in role["x-kubernetes-validations"]] == ["has(self.template)"]
    assert role["properties"]["replicas"]["default"] == 1
    said = [rule["message"] for rule in schema["x-kubernetes-validations"]]
    assert said[0].startswith("the roles are ")
    assert said[1].startswith("a role must not be given twice in different spellings")


@both
def test_scaling_reads_the_workers_and_reports_those_that_are_there(resource: Resource, roles: str) -> None:
    (version,) = definition(resource)["spec"]["versions"]
    assert version["subresources"]["scale"] == {
        "specReplicasPath": f".spec.{roles}.Worker.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    }
