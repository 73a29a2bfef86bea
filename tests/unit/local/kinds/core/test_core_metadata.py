# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from springtide.local.kinds import names
from springtide.local.kinds.metadata import (
    drop_duplicate_owners,
    generated_name,
    keep_system_fields,
    name_rule,
    validate_annotations,
    validate_metadata,
    validate_metadata_update,
)
from springtide.local.kinds.strategy import Obj

STORED: Obj = {
    "metadata": {
        "name": "a",
        "namespace": "n",
        "uid": "1",
        "resourceVersion": "5",
        "generation": 3,
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
}


def changed(**fields: Any) -> Obj:
    return {"metadata": {**STORED["metadata"], **fields}}


def test_a_generated_name_is_never_longer_than_a_label() -> None:
    assert generated_name("worker-", "x7k2p") == "worker-x7k2p"
    assert generated_name("w" * 100, "x7k2p") == "w" * 58 + "x7k2p"


@pytest.mark.parametrize(
    ("group", "kind", "rule"),
    [
        ("", "Pod", names.dns_subdomain),
        ("", "Namespace", names.dns_label),
        ("rbac.authorization.k8s.io", "ClusterRole", names.path_segment),
        ("example.com", "Anything", names.dns_subdomain),
    ],
)
def test_each_kind_names_its_objects_by_a_rule(group: str, kind: str, rule: names.Rule) -> None:
    assert name_rule(group, kind) is rule


def test_a_cluster_scoped_object_has_no_namespace() -> None:
    errors = validate_metadata(changed(), False, names.dns_subdomain)
    assert [str(error) for error in errors] == ["metadata.namespace: Forbidden: not allowed on this type"]


def test_only_built_in_kinds_ask_for_known_finalizers() -> None:
    obj = changed(finalizers=["mine"])
    assert not validate_metadata(obj, True, names.dns_subdomain)
    assert validate_metadata(obj, True, names.dns_subdomain, known_finalizers=True)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("name", "b", 'metadata.name: Invalid value: "b": field is immutable'),
        ("uid", "2", 'metadata.uid: Invalid value: "2": field is immutable'),
        ("namespace", "m", 'metadata.namespace: Invalid value: "m": field is immutable'),
        ("generation", 2, "metadata.generation: Invalid value: 2: must not be decremented"),
        ("resourceVersion", "", 'metadata.resourceVersion: Invalid value: "": must be specified for an update'),
    ],
)
def test_what_an_update_may_not_touch(field: str, value: Any, message: str) -> None:
    assert [str(error) for error in validate_metadata_update(changed(**{field: value}), STORED)] == [message]


def test_no_finalizer_is_added_to_what_is_being_deleted() -> None:
    old = changed(deletionTimestamp="2026-01-02T00:00:00Z", finalizers=["a/b"])
    new = changed(deletionTimestamp="2026-01-02T00:00:00Z", finalizers=["a/b", "c/d"])
    (error,) = validate_metadata_update(new, old)
    assert error.message == (
        'Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"c/d"}'
    )


def test_a_writer_may_leave_out_what_the_system_keeps() -> None:
    old = changed(deletionTimestamp="2026-01-02T00:00:00Z", deletionGracePeriodSeconds=30)
    new: Obj = {"metadata": {"name": "a", "namespace": "n", "resourceVersion": "5", "generation": 99}}
    keep_system_fields(new, old)
    assert new == old


@pytest.mark.parametrize(("size", "good"), [(256 * 1024 - 1, True), (256 * 1024, False)])
def test_annotations_are_bounded_in_bytes(size: int, good: bool) -> None:
    errors = validate_annotations({"k": "x" * size}, "metadata.annotations")
    assert bool(errors) is not good
    assert bool(validate_annotations({"k": "é" * (size // 2 + 1)}, "metadata.annotations"))


def test_equal_owners_are_kept_once_and_complained_about() -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "7"}
    obj = changed(ownerReferences=[owner, dict(owner), {**owner, "uid": "8"}])
    (sentence,) = drop_duplicate_owners(obj)
    assert [one["uid"] for one in obj["metadata"]["ownerReferences"]] == ["7", "8"]
    assert sentence.endswith("duplicate UID(s) observed: 7")
