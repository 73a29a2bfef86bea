# SPDX-License-Identifier: Apache-2.0
"""The RBAC objects of every new cluster, and their updates.

They are those of kube-apiserver itself, dumped by `hack/generate_bootstrap_roles.py`. At each start the API server
passes every one through `reconciled` and stores the result. `aggregate` extends admin, edit and view when an operator
adds labelled roles; a controller applies it while the server runs.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from springtide.local.access.escalation import uncovered
from springtide.local.access.rbac import Rule

DATA: Final = Path(__file__).parent / "generated" / "bootstrap_rbac.json.gz"
AUTOUPDATE: Final = "rbac.authorization.kubernetes.io/autoupdate"

Obj = dict[str, Any]


def bootstrap_objects() -> list[Obj]:
    """Cluster roles, cluster role bindings, roles and role bindings, each with kind and apiVersion."""
    objects = msgspec.json.decode(gzip.decompress(DATA.read_bytes()), type=list[Obj])
    cluster_roles = [obj for obj in objects if obj["kind"] == "ClusterRole"]
    # Aggregated roles aggregate aggregated roles (admin includes edit, edit includes view): innermost first.
    for name in ("view", "edit", "admin"):
        role = next(obj for obj in cluster_roles if obj["metadata"]["name"] == name)
        role["rules"] = aggregate(role, cluster_roles)
    return objects


def aggregate(role: Mapping[str, Any], all_roles: Iterable[Mapping[str, Any]]) -> list[Rule]:
    """The current rules of an aggregated ClusterRole."""
    by_name = sorted(all_roles, key=lambda other: str(other["metadata"]["name"]))
    rules: list[Rule] = []
    for selector in (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or []:
        for other in by_name:
            if other["metadata"]["name"] == role["metadata"]["name"]:
                continue
            if _selects(selector, other["metadata"].get("labels") or {}):
                rules += [rule for rule in other.get("rules") or [] if rule not in rules]
    return rules


def reconciled(wanted: Obj, existing: Obj | None) -> Obj | None:
    """The object to store at start, or None when the stored object is complete. Additions by users are kept."""
    if existing is None:
        return wanted
    if (existing["metadata"].get("annotations") or {}).get(AUTOUPDATE) == "false":
        return None
    result = {**existing, "metadata": _with_marks(existing["metadata"], wanted["metadata"])}
    if "roleRef" in wanted:
        result["roleRef"] = wanted["roleRef"]
        result["subjects"] = _with_missing(existing.get("subjects") or [], wanted.get("subjects") or [])
    elif not wanted.get("aggregationRule"):
        held = existing.get("rules") or []
        result["rules"] = [*held, *uncovered(held, wanted.get("rules") or [])]
    else:
        result["aggregationRule"] = existing.get("aggregationRule") or wanted["aggregationRule"]
    return None if _same(result, existing) else result


def _with_marks(existing: Mapping[str, Any], wanted: Mapping[str, Any]) -> Obj:
    result = dict(existing)
    for marks in ("labels", "annotations"):
        if wanted.get(marks):
            result[marks] = {**wanted[marks], **(existing.get(marks) or {})}
    return result


def _with_missing(existing: list[Obj], wanted: list[Obj]) -> list[Obj]:
    return [*existing, *(subject for subject in wanted if subject not in existing)]


def _same(new: Obj, old: Obj) -> bool:
    return {key: value for key, value in new.items() if value} == {key: value for key, value in old.items() if value}


def _selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether a label selector object matches; an empty one matches everything."""
    exact = (selector.get("matchLabels") or {}).items()
    conditions = selector.get("matchExpressions") or []
    return all(labels.get(key) == value for key, value in exact) and all(_holds(each, labels) for each in conditions)


def _holds(condition: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    value, values = labels.get(condition["key"]), condition.get("values") or []
    return {
        "In": value is not None and value in values,
        "NotIn": value is None or value not in values,
        "Exists": value is not None,
        "DoesNotExist": value is None,
    }.get(condition["operator"], False)
