# SPDX-License-Identifier: Apache-2.0
"""The difference between an object and its manifest."""

from __future__ import annotations

from typing import Any

from springtide.views.differing import difference


def obj(kind: str = "MPIJob", **parts: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "a", "uid": "1", "resourceVersion": "2"}, **parts}


def test_what_the_server_writes_is_no_difference() -> None:
    other = obj(status={"state": "Running"})
    other["metadata"] |= {"uid": "2", "managedFields": [], "generation": 7}
    assert difference("MPIJob a", obj(), other) == ""


def test_a_changed_field_is_shown_with_its_surroundings() -> None:
    shown = difference("MPIJob a", obj(spec={"replicas": 2}), obj(spec={"replicas": 3}))
    assert shown.splitlines()[:2] == ["--- live/MPIJob a", "+++ file/MPIJob a"]
    assert "-  replicas: 2\n+  replicas: 3\n" in shown


def test_an_object_that_does_not_exist_is_new() -> None:
    assert "+kind: MPIJob\n" in difference("MPIJob a", None, obj())


def test_values_of_secrets_are_never_shown() -> None:
    live, wanted = (
        obj("Secret", data={"a": "b2xk", "b": "c2FtZQ=="}),
        obj("Secret", data={"a": "bmV3ZXI=", "b": "c2FtZQ=="}),
    )
    for shown in (difference("Secret a", live, wanted), difference("Secret a", None, wanted)):
        assert not {word for word in ("b2xk", "bmV3ZXI=", "c2FtZQ==") if word in shown}
    assert "  a: '*** (8 characters)'" in difference("Secret a", live, wanted)
