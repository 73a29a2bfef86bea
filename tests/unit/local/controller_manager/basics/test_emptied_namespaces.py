# SPDX-License-Identifier: Apache-2.0
"""A namespace that is being deleted: what is left in it is counted without being read."""

from __future__ import annotations

from tests.unit.kube.fake_api import FakeApi, answer

from springtide.kube.client import Client
from springtide.kube.request import Response
from springtide.kube.resources import PODS, Obj
from springtide.local.controller_manager.garbage_collection import namespaces
from springtide.local.controller_manager.garbage_collection.namespaces import LOOKED_AT, Left, remaining_conditions

NOW = "2026-01-01T00:00:00Z"


def served() -> list[Response]:
    """Discovery: there are pods, and nothing else."""
    verbs = ["delete", "list", "watch"]
    pods = {"resource": "pods", "responseKind": {"kind": "Pod"}, "scope": "Namespaced", "verbs": verbs}
    versions = [{"version": "v1", "resources": [pods]}]
    return [answer({"items": [{"metadata": {}, "versions": versions}]}), answer({"items": []})]


def a_page(count: int, more: int = 0, finalizer: str = "") -> Response:
    finalizers = [finalizer] if finalizer else []
    items: list[Obj] = [{"metadata": {"name": f"p{number}", "finalizers": finalizers}} for number in range(count)]
    return answer({"metadata": {"resourceVersion": "1", "remainingItemCount": more}, "items": items})


async def test_of_thousands_of_objects_the_first_are_looked_at() -> None:
    server = FakeApi()
    not_read = Response(200, {}, b"all the pods, which nobody decodes")
    server.answers = [*served(), a_page(1, 4999), not_read, a_page(LOOKED_AT, 4900, "example.com/held")]
    left = await namespaces._empty(Client(server), "crowd")
    assert left == {PODS: Left(5000, {"example.com/held": LOOKED_AT}, LOOKED_AT)}
    assert server.methods() == ["GET", "GET", "GET", "DELETE", "GET"]
    assert [request.query.get("limit") for request in server.requests[2:]] == ["1", None, str(LOOKED_AT)]


async def test_nothing_is_deleted_where_nothing_is() -> None:
    server = FakeApi()
    server.answers = [*served(), a_page(0)]
    assert await namespaces._empty(Client(server), "crowd") == {}
    assert server.methods() == ["GET", "GET", "GET"]


async def test_what_is_deleted_at_once_is_not_left() -> None:
    server = FakeApi()
    server.answers = [*served(), a_page(1), answer({}), a_page(0)]
    assert await namespaces._empty(Client(server), "crowd") == {}


def test_finalizers_are_counted_exactly_where_all_objects_were_looked_at() -> None:
    few = remaining_conditions({PODS: Left(2, {"example.com/held": 2}, 2)}, NOW)
    assert [one["message"] for one in few] == [
        "Some resources are remaining: pods has 2 resource instances",
        "Some content in the namespace has finalizers remaining: example.com/held in 2 resource instances",
    ]
    many = remaining_conditions({PODS: Left(5000, {"example.com/held": 100}, 100)}, NOW)
    assert [one["message"] for one in many] == [
        "Some resources are remaining: pods has 5000 resource instances",
        "Some content in the namespace has finalizers remaining: example.com/held in at least 100 resource instances",
    ]
