# SPDX-License-Identifier: Apache-2.0
"""The steps of a write that happen in the kinds room, in the API server's order, without a server.

`answers/` holds what kube-apiserver 1.36.3 answered to the same writes. What its admission plugins added (tolerations,
priorities, finalizers, taints) was taken out when the answers were recorded: those plugins have tests of their own.
"""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

from springtide.api.field_errors import FieldError
from springtide.local.kinds.basic import services
from springtide.local.kinds.core import STRATEGIES
from springtide.local.kinds.metadata import (
    keep_system_fields,
    name_rule,
    validate_metadata,
    validate_metadata_update,
)
from springtide.local.kinds.strategy import Obj, Strategy
from springtide.local.schema import builtin
from springtide.local.schema.decode import decode
from springtide.local.schema.defaults import apply_defaults

CLUSTER_SCOPED = frozenset({"Namespace", "Node", "PersistentVolume"})
CREATED_AT = "2026-01-01T00:00:00Z"


def answers(name: str) -> list[Any]:
    recorded: list[Any] = json.loads((Path(__file__).parent / "answers" / f"{name}.json").read_text())
    return recorded


def strategy_of(case: Obj) -> Strategy:
    return STRATEGIES[case.get("group", ""), case["kind"]]


def defaulted(case: Obj, obj: Obj) -> Obj:
    group, kind = case.get("group", ""), case["kind"]
    typed: Obj = deepcopy(obj)
    typed |= {"apiVersion": f"{group}/v1" if group else "v1", "kind": kind}
    node = builtin.kind_node(group, "v1", kind)
    typed, unknown = decode(typed, node)
    assert not unknown
    apply_defaults(typed, node)
    strategy_of(case).default(typed)
    return typed


def create(case: Obj) -> tuple[Obj, list[FieldError]]:
    obj, strategy = defaulted(case, case["object"]), strategy_of(case)
    namespaced = case["kind"] not in CLUSTER_SCOPED
    meta = obj["metadata"]
    meta |= {"uid": "1", "creationTimestamp": CREATED_AT} | ({"namespace": "core-kinds"} if namespaced else {})
    strategy.prepare_create(obj)
    if case["kind"] == "Service":
        if errors := services.validate_before_allocation(obj):
            return obj, errors
        if services.wants_cluster_ip(obj):
            obj["spec"] |= {"clusterIP": "10.96.0.50", "clusterIPs": ["10.96.0.50"]}
    if strategy.has_generation:
        meta["generation"] = 1
    rule = name_rule(case.get("group", ""), case["kind"])
    return obj, validate_metadata(obj, namespaced, rule, known_finalizers=True) + strategy.validate(obj)


def update(case: Obj) -> tuple[Obj, list[FieldError]]:
    strategy = strategy_of(case)
    old, new = defaulted(case, case["old"]), defaulted(case, merged(case["old"], case["change"]))
    if case.get("status"):
        new = {**old, "metadata": new["metadata"], "status": new.get("status")}
    elif strategy.has_status:
        new["status"] = deepcopy(old.get("status"))
    keep_system_fields(new, old)
    (strategy.prepare_status if case.get("status") else strategy.prepare_update)(new, old)
    rule = name_rule(case.get("group", ""), case["kind"])
    errors = validate_metadata(new, case["kind"] not in CLUSTER_SCOPED, rule, known_finalizers=True)
    errors += validate_metadata_update(new, old)
    if case.get("status"):
        return new, errors + strategy.validate_status(new, old)
    return new, errors + strategy.validate_update(new, old) + strategy.validate(new)


def merged(obj: Any, change: Any) -> Any:
    """A JSON merge patch, enough for tests."""
    if not isinstance(change, dict):
        return deepcopy(change)
    result = deepcopy(obj) if isinstance(obj, dict) else {}
    for key, value in change.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result
