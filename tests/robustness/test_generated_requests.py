# SPDX-License-Identifier: Apache-2.0
"""Requests that nobody thought of: valid objects with random parts replaced, and bodies and paths of pure chance."""

from __future__ import annotations

import copy
import json
import os
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.contract.apiserver.servers import Server
from tests.robustness.asking import ask, assert_sane

EXAMPLES = int(os.environ.get("SPRINGTIDE_EXAMPLES", "120"))
UNHURRIED = settings(
    max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None
)
ROOT = "/api/v1/namespaces/robust"

TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}], "volumes": []},
}
VALID: dict[str, dict[str, Any]] = {
    f"{ROOT}/configmaps": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "g"}, "data": {"a": "b"}},
    f"{ROOT}/secrets": {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "g"}, "data": {"a": "YQ=="}},
    f"{ROOT}/pods": {"apiVersion": "v1", "kind": "Pod", **copy.deepcopy(TEMPLATE)},
    f"{ROOT}/services": {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "g"},
        "spec": {"ports": [{"port": 80, "targetPort": "http"}], "selector": {"a": "b"}},
    },
    "/apis/apps/v1/namespaces/robust/deployments": {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "g"},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": copy.deepcopy(TEMPLATE)},
    },
    "/apis/batch/v1/namespaces/robust/jobs": {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "g"},
        "spec": {"template": {"spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}},
    },
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gs.robust.example.com"},
        "spec": {
            "group": "robust.example.com",
            "scope": "Namespaced",
            "names": {"plural": "gs", "kind": "G", "listKind": "GList", "singular": "g"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"a": {"type": "integer"}}}},
                }
            ],
        },
    },
}

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=8
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [*([path] if path else []), *(found for key, inner in items for found in places(inner, (*path, key)))]


def replaced(obj: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    mutant = copy.deepcopy(obj)
    parent: Any = mutant
    for step in path[:-1]:
        parent = parent[step]
    parent[path[-1]] = value
    return mutant


def encoded(value: Any) -> bytes:
    return json.dumps(value).encode()


@pytest.mark.timeout(240)
@pytest.mark.parametrize("collection", VALID)
def test_a_mutilated_object_is_taken_or_refused(server: Server, collection: str) -> None:
    valid = VALID[collection]

    @UNHURRIED
    @given(st.sampled_from(places(valid)), values)
    def check(path: tuple[Any, ...], value: Any) -> None:
        assert_sane(ask(server, "POST", f"{collection}?dryRun=All", encoded(replaced(valid, path, value))))

    check()


PATCH_TYPES = ["merge-patch+json", "json-patch+json", "strategic-merge-patch+json"]
operations = st.fixed_dictionaries(
    {
        "op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]),
        "path": st.sampled_from(["", "/", "/metadata", "/data/a", "/metadata/labels/x", "/spec/0"]) | st.text(),
    },
    optional={"value": values, "from": st.text() | st.sampled_from(["/data", "/metadata/name"])},
)
directives = st.dictionaries(
    st.sampled_from(["$patch", "$retainKeys", "$setElementOrder/finalizers", "data", "metadata", "finalizers", "kind"]),
    values,
    max_size=4,
)


@pytest.mark.timeout(240)
@pytest.mark.parametrize("kind", PATCH_TYPES)
def test_any_patch_is_taken_or_refused(server: Server, kind: str) -> None:
    collection = f"{ROOT}/configmaps"
    ask(server, "POST", collection, encoded(VALID[collection]))

    @UNHURRIED
    @given(st.lists(operations, max_size=4) if kind.startswith("json") else directives | values)
    def check(patch: Any) -> None:
        headers = {"Content-Type": f"application/{kind}"}
        assert_sane(ask(server, "PATCH", f"{collection}/g?dryRun=All", encoded(patch), headers))

    check()


@pytest.mark.timeout(240)
def test_any_bytes_are_refused(server: Server) -> None:
    media = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"]

    @UNHURRIED
    @given(st.sampled_from(media), st.binary(max_size=200), st.sampled_from([b"", b"k8s\0", b"{", b'{"metadata":']))
    def check(kind: str, body: bytes, start: bytes) -> None:
        assert_sane(ask(server, "POST", f"{ROOT}/configmaps?dryRun=All", start + body, {"Content-Type": kind}))

    check()


@pytest.mark.timeout(240)
def test_any_query_is_answered(server: Server) -> None:
    names = ["labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "resourceVersionMatch"]

    @UNHURRIED
    @given(st.dictionaries(st.sampled_from(names), st.text(max_size=30), max_size=3))
    def check(query: dict[str, str]) -> None:
        pairs = [(name, text.encode("utf-8", "surrogatepass")) for name, text in query.items()]
        answer = ask(server, "GET", f"{ROOT}/configmaps?{urlencode(pairs)}")
        if answer.status != 504:  # a resourceVersion that has not come yet
            assert_sane(answer)

    check()
