# SPDX-License-Identifier: Apache-2.0
"""Options, selectors, discovery and the forms of an object."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from tests.unit.local.apiserver.builders import a_crd, a_custom_resource, a_record, a_request, a_resource, registry

from springtide.local.apiserver.discovery import api_groups
from springtide.local.apiserver.discovery.openapi import OpenApi
from springtide.local.apiserver.encoding import objects, tables
from springtide.local.apiserver.registry.catalog import builtin_resources
from springtide.local.apiserver.registry.resources import Registry
from springtide.local.apiserver.requests import Query
from springtide.local.apiserver.verbs.options import (
    DeleteOptions,
    delete_options,
    list_options,
    revision_of,
    write_options,
)
from springtide.local.apiserver.verbs.selecting import predicate
from springtide.local.status import StatusError
from springtide.local.store.backend import Key, Record

PODS = a_resource("pods")


@pytest.mark.parametrize(
    ("query", "agent", "manager"),
    [("", "kubectl/v1 (linux)", "kubectl"), ("fieldManager=me", "kubectl/v1", "me"), ("", "", "unknown")],
)
def test_the_manager_of_a_write_is_named_or_guessed(query: str, agent: str, manager: str) -> None:
    assert write_options(a_request("POST", query, user_agent=agent), "CreateOptions").manager == manager


@pytest.mark.parametrize(
    "query", ["dryRun=Some", "fieldValidation=Perhaps", f"fieldManager={'x' * 129}", "fieldManager=%00", "force=true"]
)
def test_options_that_mean_nothing_are_refused(query: str) -> None:
    with pytest.raises(StatusError) as refused:
        write_options(a_request("PATCH", query), "PatchOptions")
    assert refused.value.code == 422


@pytest.mark.parametrize(
    ("query", "body", "options"),
    [
        ("", {}, DeleteOptions()),
        ("gracePeriodSeconds=0&propagationPolicy=Orphan", {}, DeleteOptions(0, "Orphan")),
        ("gracePeriodSeconds=5", {"gracePeriodSeconds": 7}, DeleteOptions(7)),
        ("orphanDependents=true", {}, DeleteOptions(policy="Orphan")),
        ("", {"orphanDependents": False}, DeleteOptions(policy="Background")),
        ("dryRun=All", {}, DeleteOptions(dry_run=True)),
        ("", {"preconditions": {"uid": "u", "resourceVersion": "3"}}, DeleteOptions(uid="u", resource_version="3")),
    ],
)
def test_a_deletion_is_told_by_its_body_or_else_by_its_query(query: str, body: Any, options: DeleteOptions) -> None:
    assert delete_options(Query(query), body) == options


@pytest.mark.parametrize(
    ("query", "watch", "code"),
    [
        ("limit=many", False, 400),
        ("timeoutSeconds=soon", True, 400),
        ("sendInitialEvents=true", False, 422),
        ("sendInitialEvents=true", True, 422),
        ("resourceVersionMatch=Exact", False, 422),
        ("resourceVersionMatch=Exact&resourceVersion=0", False, 422),
        ("resourceVersionMatch=Roughly&resourceVersion=1", False, 422),
        ("resourceVersionMatch=NotOlderThan&resourceVersion=1", True, 422),
    ],
)
def test_list_options_that_contradict_are_refused(query: str, watch: bool, code: int) -> None:
    with pytest.raises(StatusError) as refused:
        list_options(Query(query), watch=watch)
    assert refused.value.code == code


@pytest.mark.parametrize("version", ["-1", "x", "1.5"])
def test_a_version_is_a_whole_number(version: str) -> None:
    with pytest.raises(StatusError):
        revision_of(version)


@pytest.mark.parametrize(
    ("labels", "fields", "matches"),
    [
        ("app=web", "", True),
        ("app!=web", "", False),
        ("app in (web,db),!old", "", True),
        ("", "metadata.name=p", True),
        ("", "metadata.namespace!=ns", False),
        ("", "spec.nodeName=n,status.phase=Running", True),
        ("app=web", "spec.nodeName=other", False),
    ],
)
def test_selectors_become_one_predicate(labels: str, fields: str, matches: bool) -> None:
    record = a_record(PODS, "p", "ns", metadata={"labels": {"app": "web"}}, spec={"nodeName": "n"},
                      status={"phase": "Running"})  # fmt: skip
    wanted = predicate(PODS, labels, fields)
    assert wanted is not None
    assert wanted(record) is matches


def test_no_selector_is_no_predicate() -> None:
    assert predicate(PODS, "", "") is None


@pytest.mark.parametrize(("labels", "fields"), [("a==b==c", ""), ("", "spec.color=red"), ("", "nonsense")])
def test_selectors_that_cannot_be_read_are_bad_requests(labels: str, fields: str) -> None:
    with pytest.raises(StatusError) as refused:
        predicate(PODS, labels, fields)
    assert refused.value.code == 400


def test_versions_come_in_the_order_of_preference() -> None:
    names = ["foo1", "v1alpha2", "v1", "v10", "v2beta1", "v2", "v1beta2", "v2beta3", "v11alpha1", "foo10"]
    assert sorted(names, key=api_groups.version_order) == [
        "v10", "v2", "v1", "v2beta3", "v2beta1", "v1beta2", "v11alpha1", "v1alpha2", "foo1", "foo10",
    ]  # fmt: skip


def test_a_custom_resource_is_discovered_like_any_other() -> None:
    boats = a_custom_resource(subresources={"status": {}})
    (group,) = api_groups.aggregated([boats])["items"]
    (entry,) = group["versions"][0]["resources"]
    assert (group["metadata"]["name"], entry["resource"], entry["shortNames"]) == ("sea.example.com", "boats", ["bo"])
    listed = api_groups.resource_list([boats], "sea.example.com", "v1")
    assert listed is not None
    assert [resource["name"] for resource in listed["resources"]] == ["boats", "boats/status"]


def test_a_group_that_is_not_served_has_no_document() -> None:
    assert api_groups.one_group(registry().all(), "nowhere.io") is None
    assert api_groups.resource_list(registry().all(), "apps", "v9") is None


def test_the_versions_of_a_definition_are_replaced_together() -> None:
    known = Registry(builtin_resources())
    known.replace_custom("sea.example.com", "boats", [a_custom_resource(), a_custom_resource(name="v2")])
    known.replace_custom("sea.example.com", "boats", [a_custom_resource(name="v2")])
    assert known.find("sea.example.com", "v1", "boats") is None
    assert known.find("sea.example.com", "v2", "boats") is not None
    known.replace_custom("", "pods", [])
    assert known.find("", "v1", "pods") is not None


def test_an_object_is_stored_without_its_kind_and_shown_with_it() -> None:
    body = objects.dump({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p"}}, PODS, 7)
    assert json.loads(body) == {"metadata": {"name": "p", "resourceVersion": "7"}}
    record = Record(Key("pods", "ns", "p"), 7, body)
    assert json.loads(objects.shown(record, PODS)) == {"kind": "Pod", "apiVersion": "v1"} | json.loads(body)
    assert objects.item_parts(record, PODS) == (body,)
    assert json.loads(bytes(objects.item_parts(record, a_custom_resource())[0]))["kind"] == "Boat"


def test_both_kinds_of_event_show_the_same_object() -> None:
    core, new = a_resource("events"), a_resource("events", "events.k8s.io")
    assert core.storage == new.storage
    record = a_record(core, "e", "ns", message="hello", involvedObject={"kind": "Pod", "name": "p"})
    assert objects.load(record, new)["note"] == "hello"
    assert json.loads(objects.dump(objects.load(record, new), new, 2))["message"] == "hello"


@pytest.mark.parametrize(("policy", "kind"), [("", "PartialObjectMetadata"), ("Object", "Pod"), ("None", None)])
def test_rows_carry_as_much_of_the_object_as_asked(policy: str, kind: str | None) -> None:
    record = a_record(PODS, "p", "ns", spec={"containers": []}, status={})
    document = json.loads(b"".join(tables.parts([record], PODS, "2026-01-01T00:00:00Z", tables.include_object(policy))))
    (row,) = document["rows"]
    assert len(row["cells"]) == len(document["columnDefinitions"])
    assert (row["object"] or {}).get("kind") == kind


def test_a_table_of_an_unknown_policy_is_a_bad_request() -> None:
    with pytest.raises(StatusError, match="includeObject: Invalid value"):
        tables.include_object("Everything")


def a_served(crd: Any) -> OpenApi:
    known = Registry(builtin_resources())
    known.replace_custom("sea.example.com", "boats", [a_custom_resource()])
    name = crd["metadata"]["name"]
    record = Record(Key("customresourcedefinitions.apiextensions.k8s.io", "", name), 1, json.dumps(crd).encode())
    return OpenApi(known, lambda: [record])


@pytest.mark.parametrize(
    ("scope", "path"),
    [
        ("Namespaced", "/apis/sea.example.com/v1/namespaces/{namespace}/boats"),
        ("Cluster", "/apis/sea.example.com/v1/boats"),
    ],
)
async def test_a_definition_has_an_openapi_document(scope: str, path: str) -> None:
    answer = await a_served(a_crd(scope=scope)).document("apis/sea.example.com/v1")
    assert answer is not None
    document = json.loads(gzip.decompress(answer.body))
    assert set(document["paths"]) == {path, f"{path}/{{name}}"}
    model = document["components"]["schemas"]["com.example.sea.v1.Boat"]
    assert set(model["properties"]) == {"apiVersion", "kind", "metadata", "spec"}
    references = {text.split('"')[0] for text in json.dumps(document).split('"#/components/schemas/')[1:]}
    assert references <= set(document["components"]["schemas"])


@pytest.mark.parametrize("name", ["apis/nowhere.io/v1", "api/v9", "nonsense", ""])
async def test_there_is_no_document_of_what_is_not_served(name: str) -> None:
    assert await a_served(a_crd()).document(name) is None


def test_the_index_names_another_digest_when_a_definition_changes() -> None:
    def address(revision: int) -> str:
        key = Key("customresourcedefinitions.apiextensions.k8s.io", "", "boats.sea.example.com")
        known = Registry(builtin_resources())
        known.replace_custom("sea.example.com", "boats", [a_custom_resource()])
        index = OpenApi(known, lambda: [Record(key, revision, b"never looked at")]).index()
        return str(index["paths"]["apis/sea.example.com/v1"]["serverRelativeURL"])

    assert address(1) == address(1) != address(2)


def test_many_conditions_on_one_field_are_looked_up() -> None:
    others = ",".join(f"metadata.name!=x{index}" for index in range(5000))
    for selector, matches in [
        (others, True),
        (f"{others},metadata.name!=p", False),
        (f"{others},metadata.name=p", True),
        ("metadata.name=p,metadata.name=q", False),
        ("metadata.name=p,metadata.name==p", True),
    ]:
        wanted = predicate(PODS, "", selector)
        assert wanted is not None
        assert wanted(a_record(PODS, "p")) is matches
