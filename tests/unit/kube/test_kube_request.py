# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from urllib.parse import unquote

import msgspec
import pytest

from springtide.kube import errors, request
from springtide.kube.request import DeleteOptions, Patch, Request, Scope
from springtide.kube.resources import CLUSTERROLES, DEPLOYMENTS, NODES, PODS, Key, Resource


@pytest.mark.parametrize(
    ("resource", "namespace", "name", "subresource", "expected"),
    [
        (PODS, "", "", "", "/api/v1/pods"),
        (PODS, "default", "", "", "/api/v1/namespaces/default/pods"),
        (PODS, "default", "p", "log", "/api/v1/namespaces/default/pods/p/log"),
        (DEPLOYMENTS, "default", "d", "scale", "/apis/apps/v1/namespaces/default/deployments/d/scale"),
        (NODES, "", "n", "", "/api/v1/nodes/n"),
        (NODES, "ignored", "n", "", "/api/v1/nodes/n"),
        (CLUSTERROLES, "", "system:node", "", "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node"),
        (CLUSTERROLES, "", "a b%", "", "/apis/rbac.authorization.k8s.io/v1/clusterroles/a%20b%25"),
    ],
)
def test_paths(resource: Resource, namespace: str, name: str, subresource: str, expected: str) -> None:
    assert request.path_of(resource, namespace, name, subresource) == expected


@pytest.mark.parametrize("key", [Key("default", ""), Key("", "p")])
def test_an_incomplete_key_never_addresses_the_whole_collection(key: Key) -> None:
    with pytest.raises(ValueError, match="no name"):
        request.delete(PODS, key, DeleteOptions())


def test_query_values_are_encoded() -> None:
    wanted = request.list_page(PODS, Scope(namespace="default", labels="a in (b,c)", fields="spec.nodeName=n"), 5)
    assert wanted.target == (
        "/api/v1/namespaces/default/pods?labelSelector=a+in+%28b%2Cc%29&fieldSelector=spec.nodeName%3Dn&limit=5"
    )


def test_a_continued_page_carries_no_resource_version() -> None:
    assert request.list_page(PODS, Scope(), 5, "token", "7").query == {"limit": "5", "continue": "token"}


def test_a_watch_asks_for_bookmarks_and_outlives_its_own_timeout() -> None:
    wanted = request.watch(PODS, Scope(), "7", 300)
    assert wanted.query["allowWatchBookmarks"] == "true"
    assert wanted.query["timeoutSeconds"] == "300"
    assert wanted.query["resourceVersion"] == "7"
    assert wanted.timeout is not None
    assert wanted.timeout > 300


def test_initial_events_need_a_version_match() -> None:
    query = request.watch(PODS, Scope(), "", 300, initial_events=True).query
    assert (query["sendInitialEvents"], query["resourceVersionMatch"]) == ("true", "NotOlderThan")
    assert "resourceVersion" not in query


@pytest.mark.parametrize("kind", list(Patch))
def test_a_patch_travels_under_its_media_type(kind: Patch) -> None:
    wanted = request.patch(PODS, Key("default", "p"), {"a": 1}, kind, "status", {})
    assert (wanted.method, wanted.headers["Content-Type"]) == ("PATCH", kind.value)
    assert wanted.path.endswith("/pods/p/status")


def test_metadata_only_is_asked_for_in_the_accept_header() -> None:
    assert "PartialObjectMetadataList" in request.list_page(PODS, Scope(metadata_only=True)).headers["Accept"]
    assert "PartialObjectMetadata;" in request.watch(PODS, Scope(metadata_only=True), "1", 1).headers["Accept"]


def test_delete_options_say_only_what_was_asked() -> None:
    assert msgspec.json.decode(DeleteOptions().body()) == {"kind": "DeleteOptions", "apiVersion": "v1"}
    everything = DeleteOptions("Foreground", grace=0, uid="u", version="7", dry_run=True)
    assert msgspec.json.decode(everything.body()) == {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "propagationPolicy": "Foreground",
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": "u", "resourceVersion": "7"},
        "dryRun": ["All"],
    }


@pytest.mark.parametrize("name", [".", "..", "\udcff"])
def test_what_is_no_name_never_becomes_a_path(name: str) -> None:
    for key in (Key("default", name), Key(name, "p")):
        with pytest.raises(errors.NotFound):
            request.get(PODS, key)


@pytest.mark.parametrize("name", ["a/b", "../..", "a?b", "a#b", "a%2e", "a\r\nHost: b", "a b", "..."])
def test_any_other_name_stays_one_part_of_the_path(name: str) -> None:
    path = request.get(PODS, Key("default", name)).target
    begin, _, last = path.rpartition("/")
    assert begin == "/api/v1/namespaces/default/pods"
    assert unquote(last) == name


def test_bytes_of_another_encoding_are_refused_before_they_are_sent() -> None:
    with pytest.raises(errors.BadRequest, match="not UTF-8"):
        request.create(PODS, {"metadata": {"name": "p", "namespace": "d"}, "a": "\udcff"}, None, "", {})
    assert Request("GET", "/", {"container": "\udcff"}).target == "/?container=%3F"
