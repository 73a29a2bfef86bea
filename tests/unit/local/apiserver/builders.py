# SPDX-License-Identifier: Apache-2.0
"""Requests, resources and records for tests of the API server's parts."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Any

from springtide.local.access.identity import User
from springtide.local.apiserver.context import Call
from springtide.local.apiserver.registry.catalog import builtin_resources
from springtide.local.apiserver.registry.custom_resources import custom_resource
from springtide.local.apiserver.registry.resources import Registry, Resource
from springtide.local.apiserver.replies import PLAIN, Form
from springtide.local.apiserver.requests import Query, Request, Target
from springtide.local.store.backend import Key, Record, Store

JANE = User("jane")


@cache
def registry() -> Registry:
    return Registry(builtin_resources())


def a_resource(plural: str, group: str = "", version: str = "v1") -> Resource:
    found = registry().find(group, version, plural)
    assert found is not None
    return found


def a_crd(plural: str = "boats", group: str = "sea.example.com", scope: str = "Namespaced", **version: Any) -> Any:
    kind = plural.removesuffix("s").capitalize()
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}}
    entry = {"name": "v1", "served": True, "storage": True, "schema": schema} | version
    names = {"plural": plural, "kind": kind, "singular": kind.lower(), "shortNames": [plural[:2]]}
    spec = {"group": group, "scope": scope, "names": names, "versions": [entry]}
    return {"metadata": {"name": f"{plural}.{group}"}, "spec": spec}


def a_custom_resource(**version: Any) -> Resource:
    spec = a_crd(**version)["spec"]
    return custom_resource(spec, spec["versions"][0])


def a_request(method: str = "GET", query: str = "", body: bytes = b"", **headers: str) -> Request:
    named = {name.replace("_", "-").title(): value for name, value in headers.items()}
    return Request(method, "/", Query(query), named, JANE, body)


def a_call(resource: Resource, query: str = "", namespace: str = "", name: str = "", form: Form = PLAIN) -> Call:
    target = Target("get" if name else "list", resource.group, resource.version, resource.plural)
    return replace(Call(a_request(query=query), target.named(namespace, name), resource), form=form)


def a_body(name: str, namespace: str = "", revision: int = 1, **rest: Any) -> bytes:
    meta = {"name": name, "creationTimestamp": "2026-01-01T00:00:00Z", "resourceVersion": str(revision)}
    meta |= {"namespace": namespace} if namespace else {}
    return json.dumps({"metadata": meta | rest.pop("metadata", {}), **rest}).encode()


def a_record(resource: Resource, name: str, namespace: str = "", revision: int = 1, **rest: Any) -> Record:
    return Record(Key(resource.storage, namespace, name), revision, a_body(name, namespace, revision, **rest))


async def put(store: Store, resource: Resource, name: str, namespace: str = "", **rest: Any) -> Record:
    key = Key(resource.storage, namespace, name)
    return await store.write(key, store.get(key), lambda revision: a_body(name, namespace, revision, **rest))


async def drop(store: Store, resource: Resource, name: str, namespace: str = "") -> Record:
    key = Key(resource.storage, namespace, name)
    seen = store.get(key)
    assert seen is not None
    return await store.delete(key, seen, lambda revision: a_body(name, namespace, revision))
