# SPDX-License-Identifier: Apache-2.0
"""Custom objects are pruned, defaulted and validated as by kube-apiserver."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.local.schema.recorded import answers, as_causes, cases, in_order

from springtide.local.schema.compiled import CompiledSchema
from springtide.local.schema.decode import DecodeError

VALUES = answers("values")
UPDATES = answers("updates")


def custom(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, **deepcopy(fields)}


@pytest.fixture(scope="module")
def values_schema() -> CompiledSchema:
    return CompiledSchema(VALUES["schema"])


@pytest.fixture(scope="module")
def updates_schema() -> CompiledSchema:
    return CompiledSchema(UPDATES["schema"])


@pytest.mark.parametrize("case", cases("values", "given"))
def test_an_object_is_answered_as_recorded(case: dict[str, Any], values_schema: CompiledSchema) -> None:
    obj = custom(**case["given"])
    if case["code"] == 400:
        with pytest.raises(DecodeError) as refused:
            values_schema.prune(obj)
        assert str(refused.value) == case["message"]
        return
    unknown = values_schema.prune(obj)
    values_schema.default(obj)
    assert unknown == case.get("unknown", [])
    assert as_causes(values_schema.validate(obj)) == in_order(case.get("causes", []))
    if case["code"] == 201:
        assert obj == custom(**case["kept"])


@pytest.mark.parametrize("case", cases("updates", "old", "new"))
def test_an_update_is_answered_as_recorded(case: dict[str, Any], updates_schema: CompiledSchema) -> None:
    errors = updates_schema.validate(custom(spec=case["new"]), custom(spec=case["old"]))
    assert as_causes(errors) == in_order(case["causes"])


@pytest.mark.parametrize("case", cases("rules", "value", "schema"))
def test_a_rule_is_answered_as_recorded(case: dict[str, Any]) -> None:
    compiled = CompiledSchema({"type": "object", "properties": {"value": case["schema"]}})
    assert as_causes(compiled.validate(custom(value=case["value"]))) == in_order(case["causes"])


def test_without_a_schema_everything_is_kept() -> None:
    compiled = CompiledSchema(None)
    obj = custom(spec={"anything": [1, {"a": None}]})
    assert compiled.prune(obj) == []
    assert obj == custom(spec={"anything": [1, {"a": None}]})
    assert compiled.validate(obj) == []


def test_metadata_goes_through_the_built_in_type() -> None:
    compiled = CompiledSchema({"type": "object"})
    obj = custom()
    obj["metadata"] = {"name": "a", "labels": {}, "foo": 1, "creationTimestamp": None}
    assert compiled.prune(obj) == ["metadata.foo"]
    assert obj["metadata"] == {"name": "a"}


def test_malformed_metadata_is_refused_in_gos_words() -> None:
    obj = custom()
    obj["metadata"]["labels"] = {"a": 5}
    with pytest.raises(DecodeError) as refused:
        CompiledSchema({"type": "object"}).prune(obj)
    message = "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"
    assert str(refused.value) == message


def test_metadata_has_the_built_in_shape_for_patches() -> None:
    node = CompiledSchema({"type": "object"}).node
    assert node.fields["metadata"].node.fields["finalizers"].node.list_type == "set"


def test_rules_wait_until_the_values_fit() -> None:
    rule = {"rule": "self.startsWith('a')"}
    value = {"type": "string", "enum": ["ab"], "x-kubernetes-validations": [rule]}
    compiled = CompiledSchema({"type": "object", "properties": {"value": value}})
    messages = [error.message for error in compiled.validate(custom(value="b"))]
    assert messages[0] == 'Unsupported value: "b": supported values: "ab"'
    assert messages[1].startswith("Invalid value: null: some validation rules were not checked")


def test_defaults_go_down_into_defaults_and_keep_allowed_nulls() -> None:
    inner = {"type": "object", "default": {}, "properties": {"size": {"type": "integer", "default": 1}}}
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "default": {}, "properties": {"box": inner}}},
    }
    obj = custom()
    CompiledSchema(schema).default(obj)
    assert obj["spec"] == {"box": {"size": 1}}


def test_what_is_nested_too_deeply_is_refused() -> None:
    value: Any = []
    for _ in range(2000):
        value = [value]
    obj = {"kind": "Thing", "value": value}
    with pytest.raises(DecodeError, match="exceeded max depth"):
        CompiledSchema({"type": "object", "properties": {"value": {"type": "string"}}}).prune(obj)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(sorted(VALUES["schema"]["properties"]["spec"]["properties"])), json_values))
def test_no_value_makes_the_server_stumble(spec: dict[str, Any]) -> None:
    compiled = CompiledSchema(VALUES["schema"])
    obj = custom(spec=spec)
    try:
        compiled.prune(obj)
    except DecodeError:
        return
    compiled.default(obj)
    compiled.validate(obj)
    again = deepcopy(obj)
    assert compiled.prune(again) == []
    compiled.default(again)
    assert again == obj
