# SPDX-License-Identifier: Apache-2.0
"""Prevents privilege escalation: no user may grant more than he holds by writing a role or a binding.

The API server calls `check_role` and `check_binding` before it stores one. Members of system:masters are exempt, as are
users with the verb `escalate` on the role or `bind` on the role that a binding refers to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from springtide.local import status
from springtide.local.access.attributes import Attributes
from springtide.local.access.identity import MASTERS, User
from springtide.local.access.rbac import GROUP, RbacIndex, Rule

_FULL_AUTHORITY: Final[list[Rule]] = [
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
]
_ONLY_CLUSTER_ADMIN: Final = "must have cluster-admin privileges to use the aggregationRule"
# Fields that the garbage collector must be able to change without holding every granted permission.
_HOUSEKEEPING: Final = ("ownerReferences", "finalizers", "managedFields")

Obj = Mapping[str, Any]


def check_role(index: RbacIndex, user: User, resource: str, new: Obj, old: Obj | None = None) -> None:
    """`resource` is `roles` or `clusterroles`; `old` is None on create."""
    if MASTERS in user.groups or _only_housekeeping(new, old):
        return
    meta = new["metadata"]
    name, namespace = meta.get("name", ""), meta.get("namespace", "")
    # kube-apiserver takes the name from the URL, which a create does not have.
    asked = Attributes("escalate", GROUP, resource, name=name if old is not None else "", namespace=namespace)
    if index.authorize(user, asked).allowed:
        return
    complaint = missing_rights(index, user, namespace, new.get("rules") or [])
    aggregates = _aggregates(new) or (old is not None and _aggregates(old))
    if not complaint and aggregates and missing_rights(index, user, "", _FULL_AUTHORITY):
        complaint = _ONLY_CLUSTER_ADMIN
    if complaint:
        raise status.forbidden(GROUP, resource, name, complaint)


def check_binding(index: RbacIndex, user: User, resource: str, new: Obj, old: Obj | None = None) -> None:
    """`resource` is `rolebindings` or `clusterrolebindings`; `old` is None on create."""
    if MASTERS in user.groups or _only_housekeeping(new, old):
        return
    meta, ref = new["metadata"], new.get("roleRef") or {}
    name, namespace = meta.get("name", ""), meta.get("namespace", "")
    target = {"Role": "roles", "ClusterRole": "clusterroles"}.get(ref.get("kind", ""))
    role_name = ref.get("name", "")
    if target is not None:
        asked = Attributes("bind", ref.get("apiGroup", ""), target, name=role_name, namespace=namespace)
        if index.authorize(user, asked).allowed:
            return
    rules = index.rules_of(ref, namespace)
    if rules is None:
        raise status.not_found(GROUP, resource, role_name)  # names the binding's resource, as kube-apiserver does
    complaint = missing_rights(index, user, namespace, rules)
    if complaint:
        raise status.forbidden(GROUP, resource, name, complaint)


def missing_rights(index: RbacIndex, user: User, namespace: str, wanted: Iterable[Rule]) -> str:
    """The reason why the user may not grant these rules, or the empty string when he holds all of them."""
    missing = uncovered(index.rules_for(user, namespace), wanted)
    if not missing:
        return ""
    lines = "\n".join(sorted({_shown(rule) for rule in _compact(missing)}))
    groups = _quoted(user.groups)
    return f'user "{user.name}" (groups={groups}) is attempting to grant RBAC permissions not currently held:\n{lines}'


def uncovered(held: Iterable[Rule], wanted: Iterable[Rule]) -> list[Rule]:
    """The parts of the wanted rules that the held ones do not allow, as rules with single verbs."""
    own = list(held)
    return [part for rule in wanted for part in _parts(rule) if not any(_covers(each, part) for each in own)]


def _only_housekeeping(new: Obj, old: Obj | None) -> bool:
    return old is not None and _without_housekeeping(new) == _without_housekeeping(old)


def _without_housekeeping(obj: Obj) -> dict[str, Any]:
    meta = {key: value for key, value in obj["metadata"].items() if key not in _HOUSEKEEPING}
    return {**obj, "metadata": meta}


def _aggregates(role: Obj) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _parts(rule: Rule) -> Iterator[Rule]:
    """Split a rule into rules with one verb on one object each."""
    verbs = rule.get("verbs") or []
    for group in rule.get("apiGroups") or []:
        for resource in rule.get("resources") or []:
            for verb in verbs:
                part: Rule = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
                names = rule.get("resourceNames") or []
                yield from ({**part, "resourceNames": [name]} for name in names)
                if not names:
                    yield part
    for url in rule.get("nonResourceURLs") or []:
        yield from ({"nonResourceURLs": [url], "verbs": [verb]} for verb in verbs)


def _covers(own: Rule, part: Rule) -> bool:
    return (
        _has(own.get("verbs"), part["verbs"][0])
        and all(_has(own.get("apiGroups"), group) for group in part.get("apiGroups", ()))
        and all(_has_resource(own.get("resources") or (), resource) for resource in part.get("resources", ()))
        and all(_has_path(own.get("nonResourceURLs") or (), path) for path in part.get("nonResourceURLs", ()))
        and _has_names(own.get("resourceNames") or (), part.get("resourceNames", ()))
    )


def _has(own: Iterable[str] | None, wanted: str) -> bool:
    return own is not None and (wanted in own or "*" in own)


def _has_resource(own: Iterable[str], wanted: str) -> bool:
    subresource = wanted.partition("/")[2]
    return _has(own, wanted) or (subresource != "" and f"*/{subresource}" in own)


def _has_path(own: Iterable[str], wanted: str) -> bool:
    return any(held == wanted or (held.endswith("*") and wanted.startswith(held.rstrip("*"))) for held in own)


def _has_names(own: Iterable[str], wanted: Iterable[str]) -> bool:
    if not own:
        return True
    return bool(wanted) and all(name in own for name in wanted)


def _compact(rules: Iterable[Rule]) -> Iterator[Rule]:
    """Join rules on the same resource into one with all their verbs, so that the message remains readable."""
    joined: dict[tuple[str, ...], Rule] = {}
    for rule in rules:
        if "nonResourceURLs" in rule:
            yield rule
            continue
        key = (rule["apiGroups"][0], rule["resources"][0], *rule.get("resourceNames", ()))
        if key in joined:
            joined[key]["verbs"] += rule["verbs"]
        else:
            joined[key] = {**rule, "verbs": list(rule["verbs"])}
    yield from joined.values()


def _shown(rule: Rule) -> str:
    labels = {
        "apiGroups": "APIGroups",
        "resources": "Resources",
        "nonResourceURLs": "NonResourceURLs",
        "resourceNames": "ResourceNames",
        "verbs": "Verbs",
    }
    return "{" + ", ".join(f"{label}:{_quoted(rule[key])}" for key, label in labels.items() if rule.get(key)) + "}"


def _quoted(words: Iterable[str]) -> str:
    return "[" + " ".join(f'"{word}"' for word in words) + "]"
