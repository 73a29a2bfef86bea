# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from urllib.parse import quote

import pytest

from springtide.local.apiserver.requests import Query, Target, attributes, parse_target, split_target

PODS = Target("list", "", "v1", "pods")


@pytest.mark.parametrize(
    ("method", "target", "wanted"),
    [
        ("GET", "/api/v1/pods", PODS),
        ("GET", "/api/v1/pods/", PODS),
        ("GET", "/api/v1/namespaces/ns/pods", PODS.named("ns", "")),
        ("HEAD", "/api/v1/namespaces/ns/pods", PODS.named("ns", "")),
        ("GET", "/api/v1/namespaces/ns/pods/p", Target("get", "", "v1", "pods", "ns", "p")),
        ("GET", "/api/v1/namespaces/ns/pods/p/log", Target("get", "", "v1", "pods", "ns", "p", "log")),
        ("GET", "/api/v1/namespaces/ns/pods?watch=1", Target("watch", "", "v1", "pods", "ns")),
        ("GET", "/api/v1/namespaces/ns/pods?watch", Target("watch", "", "v1", "pods", "ns")),
        ("GET", "/api/v1/namespaces/ns/pods?watch=false", Target("list", "", "v1", "pods", "ns")),
        ("GET", "/api/v1/namespaces/ns/pods/p?watch=1", Target("get", "", "v1", "pods", "ns", "p")),
        ("GET", "/api/v1/watch/namespaces/ns/pods", Target("watch", "", "v1", "pods", "ns")),
        ("GET", "/api/v1/watch/namespaces/ns/pods/p", Target("watch", "", "v1", "pods", "ns", "p")),
        ("GET", "/api/v1/namespaces", Target("list", "", "v1", "namespaces")),
        ("GET", "/api/v1/namespaces/ns", Target("get", "", "v1", "namespaces", "ns", "ns")),
        ("PUT", "/api/v1/namespaces/ns/status", Target("update", "", "v1", "namespaces", "ns", "ns", "status")),
        ("PUT", "/api/v1/namespaces/ns/finalize", Target("update", "", "v1", "namespaces", "ns", "ns", "finalize")),
        ("POST", "/apis/apps/v1/namespaces/ns/deployments", Target("create", "apps", "v1", "deployments", "ns")),
        ("DELETE", "/apis/apps/v1/deployments", Target("deletecollection", "apps", "v1", "deployments")),
        ("PATCH", "/apis/x.io/v2/things/t", Target("patch", "x.io", "v2", "things", "", "t")),
        ("GET", "/api/v1/nodes/n/proxy/a/b", Target("get", "", "v1", "nodes", "", "n", "proxy", "a/b")),
        ("GET", "/api/v1/nodes/n/proxy/a/", Target("get", "", "v1", "nodes", "", "n", "proxy", "a/")),
        ("GET", "/api/v1/nodes/n/proxy/", Target("get", "", "v1", "nodes", "", "n", "proxy", "")),
        ("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode",
         Target("get", "rbac.authorization.k8s.io", "v1", "clusterroles", "", "system:node")),
        ("OPTIONS", "/api/v1/pods", Target("", "", "v1", "pods")),
    ],
)  # fmt: skip
def test_a_path_names_a_resource_as_for_the_real_server(method: str, target: str, wanted: Target) -> None:
    path, query = split_target(target)
    assert parse_target(method, path, Query(query)) == wanted


@pytest.mark.parametrize(
    "path",
    ["", "/", "//", "/api", "/api/", "/api/v1", "/api/v1/", "/apis", "/apis/apps", "/apis/apps/v1", "/apix/v1/a"],
)
def test_other_paths_name_none(path: str) -> None:
    assert parse_target("GET", path, Query("")) is None


@pytest.mark.parametrize("path", ["/api//pods", "/api/v1//", "/apis///x/y", "/api/v1/namespaces//pods", "/api/v1/%"])
def test_odd_paths_are_read_without_a_crash(path: str) -> None:
    parse_target("GET", path, Query(""))


@pytest.mark.parametrize(
    ("raw", "flag"),
    [("", False), ("x", True), ("x=", True), ("x=1", True), ("x=0", False), ("x=FALSE", False), ("x=true&x=0", True)],
)
def test_flags_are_read_as_go_reads_them(raw: str, flag: bool) -> None:
    assert Query(raw).flag("x") is flag


def test_the_first_value_of_a_parameter_counts_and_all_can_be_had() -> None:
    query = Query("a=1&a=2&b=%C3%A4+c")
    assert (query.get("a"), query.all("a"), query.get("b"), query.get("c", "d")) == ("1", ["1", "2"], "ä c", "d")


@pytest.mark.parametrize(
    ("selector", "name"),
    [("metadata.name=x", "x"), ("status.phase=Running,metadata.name==x", "x"), ("metadata.name!=x", ""), ("", "")],
)
def test_a_list_limited_to_one_name_is_judged_by_that_name(selector: str, name: str) -> None:
    target = parse_target("GET", "/api/v1/namespaces/default/pods", Query(f"fieldSelector={quote(selector)}"))
    assert target is not None
    assert attributes(target).name == name
