# SPDX-License-Identifier: Apache-2.0
"""What broken, hostile or confused clients send: always a Kubernetes refusal, with the code the real server gives.

Where kube-apiserver 1.36.3 answers otherwise, the case says so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from tests.contract.apiserver.servers import Server
from tests.robustness.asking import Answer, ask, assert_refused, send

MAPS = "/api/v1/namespaces/robust/configmaps"
PODS = "/api/v1/namespaces/robust/pods"
SECRETS = "/api/v1/namespaces/robust/secrets"
WIDGETS = "/apis/example.com/v1/namespaces/robust/widgets"

MERGE = {"Content-Type": "application/merge-patch+json"}
JSON_PATCH = {"Content-Type": "application/json-patch+json"}
STRATEGIC = {"Content-Type": "application/strategic-merge-patch+json"}
APPLY = {"Content-Type": "application/apply-patch+yaml"}
YAML = {"Content-Type": "application/yaml"}
PROTOBUF = {"Content-Type": "application/vnd.kubernetes.protobuf"}


def a_map(name: str = "x", **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **more}


def a_widget(spec: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec}


def a_pod(**container: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "c", "image": "i", **container}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


def nested(levels: int) -> bytes:
    return b'{"a":' * levels + b"1" + b"}" * levels


def a_widget_with(spec: bytes) -> bytes:
    return json.dumps(a_widget("SPEC")).encode().replace(b'"SPEC"', spec)


def laughs() -> bytes:
    """A billion values in half a kilobyte."""
    lines = [b"a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    lines += [b"a%d: &a%d [%s]" % (n, n, b",".join([b"*a%d" % (n - 1)] * 10)) for n in range(1, 9)]
    return b"\n".join(lines)


class Case(NamedTuple):
    id: str
    code: int
    method: str
    path: str
    body: bytes | None = None
    headers: Mapping[str, str] = MappingProxyType({})


def _object(**fields: Any) -> bytes:
    return json.dumps(a_map() | fields).encode()


def _meta(**fields: Any) -> bytes:
    return json.dumps(a_map() | {"metadata": {"name": "x", **fields}}).encode()


UNREADABLE = [
    Case("no JSON", 400, "POST", MAPS, b"hello"),
    Case("cut off", 400, "POST", MAPS, b'{"kind":"ConfigMap"'),
    Case("a list", 400, "POST", MAPS, b"[]"),
    Case("more after the end", 400, "POST", MAPS, _object() + b"}"),
    Case("NaN", 400, "POST", MAPS, b'{"metadata":{"name":"x","generation":NaN}}'),
    Case("100,000 lists deep", 400, "POST", MAPS, b"[" * 100_000 + b"]" * 100_000),
    Case("300,000 objects deep", 400, "POST", MAPS, nested(300_000)),
    Case("deep widget (real: up to 10,000 levels)", 400, "POST", WIDGETS, a_widget_with(nested(500))),
    Case("deeper widget (real: up to 10,000 levels)", 400, "POST", WIDGETS, a_widget_with(nested(9_000))),
    Case("infinite number", 400, "POST", WIDGETS, a_widget_with(b'{"a":1e400}')),
    Case("5,000 digits", 400, "POST", WIDGETS, a_widget_with(b'{"a":' + b"9" * 5000 + b"}")),
    Case("YAML cut off", 400, "POST", MAPS, b"a: [b", YAML),
    Case("YAML with a tab", 400, "POST", MAPS, b"\t- x", YAML),
    Case("YAML that makes Python objects", 400, "POST", MAPS, b"!!python/object/apply:os.system ['true']", YAML),
    Case("YAML of a billion laughs", 400, "POST", MAPS, laughs(), YAML),
    Case("YAML that contains itself", 400, "POST", MAPS, b"a: &a [*a]", YAML),
    Case("YAML 3,000 flow lists deep", 400, "POST", MAPS, b"a: " + b"[" * 3000 + b"]" * 3000, YAML),
    Case("YAML 100,000 block lists deep", 400, "POST", MAPS, b"- " * 100_000 + b"a", YAML),
    Case("YAML of 300,000 values (real: reads it)", 400, "POST", MAPS, b"a: [" + b"1," * 300_000 + b"]", YAML),
    Case("protobuf without its mark", 400, "POST", MAPS, b"hello", PROTOBUF),
    Case("protobuf cut off", 400, "POST", MAPS, b"k8s\x00\x0a\x50abc", PROTOBUF),
    Case("protobuf of noise", 400, "POST", MAPS, b"k8s\x00" + b"\xff" * 12, PROTOBUF),
    Case("unknown media type", 415, "POST", MAPS, b"x", {"Content-Type": "text/plain"}),
    Case("noise for a media type", 415, "POST", MAPS, b"{}", {"Content-Type": ";;;=,,"}),
    Case("gzip that is none", 400, "POST", MAPS, b"notgzip", {"Content-Encoding": "gzip"}),
]
WRONG_TYPES = [
    Case("another kind", 400, "POST", MAPS, _object(kind="Pod")),
    Case("kind is a number", 400, "POST", MAPS, _object(kind=3)),
    Case("kind is an empty object", 400, "POST", MAPS, _object(kind={})),
    Case("apiVersion is a list", 400, "POST", MAPS, _object(apiVersion=[])),
    Case("metadata is a string", 400, "POST", MAPS, _object(metadata="x")),
    Case("name is a number", 400, "POST", MAPS, _meta(name=1)),
    Case("label is a number", 400, "POST", MAPS, _meta(labels={"a": 1})),
    Case("labels are deep", 400, "POST", MAPS, _meta(labels={"a": {"b": {"c": 1}}})),
    Case("finalizers are a string", 400, "POST", MAPS, _meta(finalizers="a")),
    Case("data is a list", 400, "POST", MAPS, _object(data=[1])),
    Case("binary data is no base64", 400, "POST", MAPS, _object(binaryData={"a": "!"})),
    Case("creation yesterday", 400, "POST", MAPS, _meta(creationTimestamp="yesterday")),
    Case("containers are a string", 400, "POST", PODS, json.dumps(a_pod() | {"spec": {"containers": "x"}}).encode()),
    Case("a container is nothing", 422, "POST", PODS, json.dumps(a_pod() | {"spec": {"containers": [None]}}).encode()),
    Case("priority beyond 32 bits", 400, "POST", PODS, json.dumps(a_pod() | {"spec": {"priority": 2**40}}).encode()),
    Case("grace of 31 digits", 400, "DELETE", f"{MAPS}/base", b'{"gracePeriodSeconds":1' + b"0" * 30 + b"}"),
    Case("grace is a string", 400, "DELETE", f"{MAPS}/base", b'{"gracePeriodSeconds":"x"}'),
    Case("preconditions are a number", 400, "DELETE", f"{MAPS}/base", b'{"preconditions":5}'),
    Case("dryRun is a number", 400, "DELETE", f"{MAPS}/base", b'{"dryRun":5}'),
    Case("policy is a list", 400, "DELETE", f"{MAPS}/base", b'{"propagationPolicy":["a"]}'),
    Case("binding target is a number", 400, "POST", f"{PODS}/none/binding", b'{"target":5}'),
    Case("eviction is a number", 400, "POST", f"{PODS}/none/eviction", b"5"),
    Case("review of a number", 400, "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", b'{"spec":5}'),
]
NAMES = [
    Case("upper case", 422, "POST", MAPS, _meta(name="UPPER")),
    Case("254 letters", 422, "POST", MAPS, _meta(name="a" * 254)),
    Case("slash", 422, "POST", MAPS, _meta(name="a/b")),
    Case("newline", 422, "POST", MAPS, _meta(name="a\n")),
    Case("NUL", 422, "POST", MAPS, _meta(name="a\0b")),
    Case("not ASCII", 422, "POST", MAPS, _meta(name="ünï")),
    Case("label key with two slashes", 422, "POST", MAPS, _meta(labels={"a/b/c": "x"})),
    Case("long label", 422, "POST", MAPS, _meta(labels={"a": "x" * 64})),
    Case("owner of nothing", 422, "POST", MAPS, _meta(ownerReferences=[{}])),
    Case("NUL in the path", 404, "GET", f"{MAPS}/%00"),
    Case("no UTF-8 in the path", 404, "GET", f"{MAPS}/%ff%fe"),
    Case("unknown resource", 404, "GET", "/api/v1/namespaces/robust/nopes"),
    Case("unknown subresource", 404, "GET", f"{MAPS}/base/nope"),
    Case("PUT on a collection", 405, "PUT", MAPS, b"{}"),
    Case("POST on an object", 405, "POST", f"{MAPS}/base", b"{}"),
]
QUERIES = [
    Case("label selector", 400, "GET", f"{MAPS}?labelSelector=a%3D%3D%3Db"),
    Case("label selector without an end", 400, "GET", f"{MAPS}?labelSelector=a+in+(b"),
    Case("unknown field", 400, "GET", f"{MAPS}?fieldSelector=a%3Db"),
    Case("continue token", 400, "GET", f"{MAPS}?continue=abc"),
    Case("continue token of noise", 400, "GET", f"{MAPS}?continue=%ff%00"),
    Case("limit", 400, "GET", f"{MAPS}?limit=x"),
    Case("limit of 50 digits", 400, "GET", f"{MAPS}?limit={'9' * 50}"),
    Case("limit of 5,000 digits", 400, "GET", f"{MAPS}?limit={'9' * 5000}"),
    Case("resourceVersion", 400, "GET", f"{MAPS}?resourceVersion=x"),
    Case("negative resourceVersion", 400, "GET", f"{MAPS}?resourceVersion=-1"),
    Case("resourceVersion of 30 digits", 400, "GET", f"{MAPS}?resourceVersion={'9' * 30}"),
    Case("resourceVersion as Python writes it", 400, "GET", f"{MAPS}?resourceVersion=1_0"),
    Case("resourceVersion in Arabic digits", 400, "GET", f"{MAPS}?resourceVersion=%D9%A1"),
    Case("dryRun", 422, "POST", f"{MAPS}?dryRun=x", _object()),
    Case("fieldValidation", 422, "POST", f"{MAPS}?fieldValidation=x", _object()),
    Case("long field manager", 422, "POST", f"{MAPS}?fieldManager={'a' * 200}", _object()),
    Case("watch timeout", 400, "GET", f"{MAPS}?watch=1&timeoutSeconds=x"),
]
MANY = json.dumps([{"op": "test", "path": "/kind", "value": "ConfigMap"}] * 10_001).encode()
PATCHES = [
    Case("merge: a list", 400, "PATCH", f"{MAPS}/base", b"[1]", MERGE),
    Case("merge: no name left", 400, "PATCH", f"{MAPS}/base", b'{"metadata":{"name":null}}', MERGE),
    Case("merge: no metadata left", 400, "PATCH", f"{MAPS}/base", b'{"metadata":null}', MERGE),
    Case("merge: metadata is a list", 422, "PATCH", f"{MAPS}/base", b'{"metadata":[]}', MERGE),
    Case("merge: too deep", 400, "PATCH", f"{WIDGETS}/base", b'{"spec":' + nested(5000) + b"}", MERGE),
    Case("JSON: no list", 400, "PATCH", f"{MAPS}/base", b"{}", JSON_PATCH),
    Case("JSON: unknown operation", 422, "PATCH", f"{MAPS}/base", b'[{"op":"nope","path":"/a"}]', JSON_PATCH),
    Case(
        "JSON: a number for a root", 422, "PATCH", f"{MAPS}/base", b'[{"op":"replace","path":"","value":5}]', JSON_PATCH
    ),
    Case("JSON: no metadata left", 400, "PATCH", f"{MAPS}/base", b'[{"op":"remove","path":"/metadata"}]', JSON_PATCH),
    Case("JSON: 10,001 operations", 413, "PATCH", f"{MAPS}/base", MANY, JSON_PATCH),
    Case("strategic: a list", 400, "PATCH", f"{MAPS}/base", b"[]", STRATEGIC),
    Case("strategic: nothing left", 400, "PATCH", f"{MAPS}/base", b'{"$patch":"delete"}', STRATEGIC),
    Case("strategic: of a custom resource", 415, "PATCH", f"{WIDGETS}/base", b"{}", STRATEGIC),
    Case("apply: no manager", 422, "PATCH", f"{MAPS}/base", _object(metadata={"name": "base"}), APPLY),
    Case("apply: no object", 400, "PATCH", f"{MAPS}/base?fieldManager=a", b"null", APPLY),
    Case("apply: no kind", 400, "PATCH", f"{MAPS}/base?fieldManager=a", b"{}", APPLY),
    Case("apply: managedFields", 400, "PATCH", f"{MAPS}/base?fieldManager=a", _meta(managedFields=[{}]), APPLY),
]
SIZES = [
    Case("ConfigMap data over 1 MiB", 422, "POST", MAPS, _object(data={"a": "x" * (1 << 20), "b": "y"})),
    Case(
        "Secret data over 1 MiB",
        422,
        "POST",
        SECRETS,
        json.dumps({"metadata": {"name": "s"}, "stringData": {"a": "x" * (1 << 20) + "y"}}).encode(),
    ),
    Case("body over 3 MiB", 413, "POST", MAPS, _object(data={"a": "x" * (3 << 20)})),
    Case("widget of 2 MiB (real: 500)", 413, "POST", WIDGETS, json.dumps(a_widget({"a": "x" * (2 << 20)})).encode()),
    Case(
        "patch to 2 MiB", 413, "PATCH", f"{WIDGETS}/base", json.dumps({"spec": {"a": "x" * (2 << 20)}}).encode(), MERGE
    ),
]
CASES = {"unreadable": UNREADABLE, "types": WRONG_TYPES, "names": NAMES, "queries": QUERIES, "patches": PATCHES}
CASES["sizes"] = SIZES


def _there(server: Server) -> None:
    """The objects that are patched and deleted; some cases may have taken them away."""
    send(server, "POST", MAPS, a_map("base", data={"k": "v"}))
    send(server, "POST", WIDGETS, a_widget({}) | {"metadata": {"name": "base"}})


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=f"{group}: {case.id}") for group, cases in CASES.items() for case in cases]
)
def test_bad_input_is_refused_as_kubernetes_refuses_it(server: Server, case: Case) -> None:
    _there(server)
    assert_refused(ask(server, case.method, case.path, case.body, case.headers), case.code)


@pytest.mark.parametrize(
    ("text", "kept"), [("\\ud800", "\ufffd"), ("\\u0000", "\0"), ("\\ud83d\\ude00", "😀"), ("a\u202eb", "a\u202eb")]
)
def test_odd_characters_are_kept_as_the_real_server_keeps_them(server: Server, text: str, kept: str) -> None:
    ask(server, "DELETE", f"{MAPS}/odd")
    body = b'{"metadata":{"name":"odd"},"data":{"a":"' + text.encode() + b'"}}'
    assert ask(server, "POST", MAPS, body).status == 201
    assert json.loads(ask(server, "GET", f"{MAPS}/odd").body)["data"]["a"] == kept


def _at_depth(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


def test_an_object_as_deep_as_allowed_goes_through_every_door(server: Server) -> None:
    widget = a_widget(_at_depth(120))
    ask(server, "DELETE", f"{WIDGETS}/w")
    doors: list[Answer] = [
        send(server, "POST", WIDGETS, widget),
        send(server, "PATCH", f"{WIDGETS}/w", {"spec": _at_depth(121)}, MERGE),
        send(server, "PATCH", f"{WIDGETS}/w?fieldManager=a&force=true", a_widget(_at_depth(119)), APPLY),
        ask(server, "GET", f"{WIDGETS}/w", headers={"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}),
        ask(server, "GET", f"{WIDGETS}/w", headers={"Accept": "application/yaml"}),
        ask(server, "DELETE", f"{WIDGETS}/w"),
    ]
    assert [answer.status for answer in doors] == [201, 200, 200, 200, 200, 200]
