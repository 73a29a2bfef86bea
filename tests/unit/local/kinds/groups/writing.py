# SPDX-License-Identifier: Apache-2.0
"""Objects on their way through a strategy, as the API server sends them: decoded, completed, checked."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from springtide.api.field_errors import FieldError
from springtide.local.kinds import metadata
from springtide.local.kinds.other_groups import STRATEGIES
from springtide.local.kinds.strategy import Obj, Strategy
from springtide.local.schema import builtin
from springtide.local.schema.decode import decode
from springtide.local.schema.defaults import apply_defaults
from springtide.local.schema.node import Node

NOW = "2026-11-16T02:00:00Z"
UID = "0a1b2c3d-0000-4000-8000-000000000001"
CLUSTER_SCOPED = {
    "ClusterRole",
    "ClusterRoleBinding",
    "StorageClass",
    "PriorityClass",
    "ValidatingWebhookConfiguration",
    "CustomResourceDefinition",
}


def recorded(name: str) -> list[Obj]:
    """What kube-apiserver 1.36.3 answered, one case per line, with this uid and time."""
    cases: list[Obj] = json.loads(Path(__file__).with_name(name).read_text())
    return cases


def cases(name: str, answered: str) -> list[Any]:
    """The cases of a file that were refused (`causes`) or accepted (`answer`), as parameters of a test."""
    return [
        pytest.param(case, id=f"{index}-{(case.get('object') or case['old'])['kind']}")
        for index, case in enumerate(recorded(name))
        if answered in case
    ]


def strategy_of(obj: Obj) -> tuple[Strategy, Node, str]:
    group, _, version = obj["apiVersion"].rpartition("/")
    return STRATEGIES[group, obj["kind"]], builtin.kind_node(group, version, obj["kind"]), group


def created(obj: Obj, uid: str = UID, now: str = NOW) -> tuple[Obj, list[FieldError]]:
    strategy, node, group = strategy_of(obj)
    kind = obj["kind"]
    new, _ = decode(deepcopy(obj), node)
    apply_defaults(new, node)
    strategy.default(new)
    new["metadata"] |= {"uid": uid, "creationTimestamp": now}
    if kind not in CLUSTER_SCOPED:
        new["metadata"]["namespace"] = "ng"
    if strategy.has_generation:
        new["metadata"]["generation"] = 1
    strategy.prepare_create(new)
    errors = metadata.validate_metadata(new, kind not in CLUSTER_SCOPED, metadata.name_rule(group, kind))
    errors += strategy.validate(new)
    return new | {"kind": kind, "apiVersion": obj["apiVersion"]}, errors


def updated(old: Obj, wanted: Obj) -> tuple[Obj, list[FieldError]]:
    strategy, node, _ = strategy_of(old)
    before, _ = decode(deepcopy(old), node)
    new, _ = decode(deepcopy(wanted), node)
    apply_defaults(new, node)
    strategy.default(new)
    metadata.keep_system_fields(new, before)
    if strategy.has_status:
        new["status"] = deepcopy(before.get("status", {}))
    if strategy.has_generation and _content(new) != _content(before):
        new["metadata"]["generation"] = before["metadata"].get("generation", 0) + 1
    strategy.prepare_update(new, before)
    errors = metadata.validate_metadata_update(new, before)
    errors += strategy.validate(new) + strategy.validate_update(new, before)
    return new | {"kind": old["kind"], "apiVersion": old["apiVersion"]}, errors


def status_updated(old: Obj, wanted: Obj) -> tuple[Obj, list[FieldError]]:
    strategy, node, _ = strategy_of(old)
    before, _ = decode(deepcopy(old), node)
    new, _ = decode(deepcopy(wanted), node)
    new = deepcopy(before) | {"metadata": new["metadata"], "status": new["status"]}
    metadata.keep_system_fields(new, before)
    strategy.prepare_status(new, before)
    errors = metadata.validate_metadata_update(new, before) + strategy.validate_status(new, before)
    return new | {"kind": old["kind"], "apiVersion": old["apiVersion"]}, errors


def _content(obj: Obj) -> Obj:
    return {key: value for key, value in obj.items() if key not in ("metadata", "status")}


def causes(errors: list[FieldError]) -> list[list[str]]:
    return [[error.reason, error.field, error.message] for error in dict.fromkeys(errors)]


def merged(base: Any, change: Any) -> Any:
    """A JSON merge patch."""
    if not isinstance(change, dict):
        return change
    result = dict(base) if isinstance(base, dict) else {}
    for key, value in change.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result
