# SPDX-License-Identifier: Apache-2.0
"""Definitions of custom resources that make much work of few letters: objects are written, listed and described."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.robustness.asking import Answer, ask, assert_refused, send
from tests.robustness.complexity.measuring import Measured, measured

LAG = 0.2
MEMORY = 64 << 20
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
STRING = {"type": "string"}
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}

Obj = dict[str, Any]


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measured]:
    with measured(tmp_path_factory.mktemp("definitions") / "data") as running:
        send(running.server, "POST", "/api/v1/namespaces", {"metadata": {"name": "tried"}})
        yield running


def version(name: str = "v1", schema: Obj | None = None, **more: Any) -> Obj:
    return {
        "name": name,
        "served": True,
        "storage": name == "v1",
        "schema": {"openAPIV3Schema": schema or ANYTHING},
    } | more


def defined(process: Measured, plural: str, *versions: Obj, group: str = "hostile.example.com") -> str:
    """The path of the objects that the definition is of."""
    names = {"plural": plural, "kind": plural.capitalize()}
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": list(versions)}
    answer = send(process.server, "POST", DEFINITIONS, {"metadata": {"name": f"{plural}.{group}"}, "spec": spec})
    assert answer.status == 201, answer.body
    path = f"/apis/{group}/v1/namespaces/tried/{plural}"
    while ask(process.server, "GET", path).status != 200:
        pass
    return path


def created(process: Measured, path: str, **content: Any) -> Answer:
    group, plural = path.split("/")[2], path.rpartition("/")[2]
    head = {"apiVersion": f"{group}/v1", "kind": plural.capitalize(), "metadata": {"name": "o"}}
    return send(process.server, "POST", path, head | content)


def cheap(process: Measured) -> None:
    cost = process.end()
    assert cost.lag < LAG
    assert cost.memory < MEMORY


def test_columns_that_multiply_values_hold_up_nobody(process: Measured) -> None:
    nested: Any = 1
    for _ in range(60):
        nested = [nested]
    columns = [
        {"name": f"C{number}", "type": "string", "jsonPath": path}
        for number, path in enumerate([".l" + "[0,0]" * 60, ".m..a..a..a..a..a", ".l" + "..[*]" * 60, ".m", ".l"])
    ]
    path = defined(process, "columns", version(additionalPrinterColumns=columns))
    deep: Any = 1
    for _ in range(60):
        deep = {"a": deep}
    assert created(process, path, l=nested, m=deep).status == 201
    process.begin()
    answer = ask(process.server, "GET", path, None, TABLE)
    cheap(process)
    (row,) = json.loads(answer.body)["rows"]
    assert row["cells"][:4] == ["o", None, None, None]


def test_long_paths_of_columns_hold_up_nobody(process: Measured) -> None:
    columns = [{"name": f"C{number}", "type": "string", "jsonPath": ".a" * 2000} for number in range(300)]
    process.begin()
    path = defined(process, "paths", version(additionalPrinterColumns=columns))
    ask(process.server, "GET", path, None, TABLE)
    cheap(process)


@pytest.mark.parametrize("items", [500, 20_000, 60_000])
def test_defaults_do_not_make_gigabytes_of_letters(process: Measured, items: int) -> None:
    text = {"type": "string", "default": "y" * 100_000}
    entry = {"type": "object", "properties": {"d": text}}
    schema = {"type": "object", "properties": {"l": {"type": "array", "items": entry}}}
    path = defined(process, f"defaults{items}", version(schema=schema))
    process.begin()
    answer = created(process, path, l=[{}] * items)
    cheap(process)
    assert_refused(answer, 413)
    assert answer.message.endswith("the defaults of its schema would add more than 1572864 bytes")


def test_defaults_of_the_stored_version_are_bounded_as_well(process: Measured) -> None:
    text = {"type": "string", "default": "y" * 100_000}
    loose, tight = ({"type": "object", "properties": {"d": one}} for one in (STRING, text))
    stored, other = (
        {"type": "object", "properties": {"l": {"type": "array", "items": entry}}} for entry in (tight, loose)
    )
    path = defined(process, "stored", version(schema=stored), version("v2", schema=other)).replace("/v1/", "/v2/")
    obj = {"apiVersion": "hostile.example.com/v2", "kind": "Stored", "metadata": {"name": "o"}, "l": [{}] * 20_000}
    process.begin()
    assert_refused(send(process.server, "POST", path, obj), 413)
    cheap(process)


def test_a_definition_of_many_versions_is_described(process: Measured) -> None:
    versions = [
        version(f"v{number}", {"type": "object", "description": str(number), "properties": {"a": STRING}})
        for number in range(1, 500)
    ]
    defined(process, "versions", *versions, group="many.example.com")
    process.begin()
    index = json.loads(ask(process.server, "GET", "/openapi/v3").body)
    document = ask(process.server, "GET", "/openapi/v3/apis/many.example.com/v77")
    cheap(process)
    assert "apis/many.example.com/v77" in index["paths"]
    assert document.status == 200
