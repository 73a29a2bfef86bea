# SPDX-License-Identifier: Apache-2.0
"""The schemas of a CRD are accepted and refused as by kube-apiserver."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.local.schema.recorded import answers, as_causes, cases, in_order

from springtide.local.schema import builtin
from springtide.local.schema.crd_rules import crd_schema_errors, schema_errors
from springtide.local.schema.decode import decode

RULE_TEXTS = answers("rule_texts")


def crd_spec(*schemas: dict[str, Any]) -> dict[str, Any]:
    versions = [{"name": f"v{index}", "schema": {"openAPIV3Schema": schema}} for index, schema in enumerate(schemas)]
    crd = builtin.kind_node("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    spec: dict[str, Any] = decode({"spec": {"versions": versions}}, crd)[0]["spec"]
    return spec


@pytest.mark.parametrize("case", cases("schemas", "schema"))
def test_a_schema_is_answered_as_recorded(case: dict[str, Any]) -> None:
    assert as_causes(crd_schema_errors(crd_spec(case["schema"]))) == in_order(case["causes"])


@pytest.mark.parametrize("case", cases("rule_texts", "rule"))
def test_a_rule_is_compiled_as_recorded(case: dict[str, Any]) -> None:
    schema = {**RULE_TEXTS["schema"], "x-kubernetes-validations": [case["rule"]]}
    found = schema_errors({"type": "object", "properties": {"spec": schema}}, "root")
    prefix = "root.properties[spec]."
    causes = [{"field": error.field.removeprefix(prefix), "message": error.message} for error in found]
    assert in_order(causes) == in_order(case["causes"])


def test_schemas_that_differ_are_named_by_their_version() -> None:
    errors = crd_schema_errors(crd_spec({"type": "object"}, {}))
    assert [error.field for error in errors] == ["spec.versions[1].schema.openAPIV3Schema.type"]


def test_a_version_without_a_schema_is_refused() -> None:
    spec = {"versions": [{"name": "v1"}, {"name": "v2", "schema": {"openAPIV3Schema": {"type": "object"}}}]}
    assert [str(error) for error in crd_schema_errors(spec)] == [
        "spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required"
    ]


@pytest.mark.parametrize(
    "text",
    ["self.s == 'a", "self.i = 1", "self.in == 1", "(" * 300, "!" * 300, "+".join(["self.i"] * 2000), "self.s.\x00"],
)
def test_what_is_no_expression_is_refused(text: str) -> None:
    schema = {**RULE_TEXTS["schema"], "x-kubernetes-validations": [{"rule": text}]}
    (error,) = schema_errors({"type": "object", "properties": {"spec": schema}}, "root")
    assert "compilation failed: ERROR: <input>:" in error.message
