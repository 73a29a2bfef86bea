# SPDX-License-Identifier: Apache-2.0
"""Roles and bindings: validation of rules and subjects; the role of a binding is immutable.

The package `access` checks that the writer holds the permissions he grants (`escalate`, `bind`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from springtide.api.field_errors import FieldError, invalid, not_supported, required
from springtide.local.kinds import names
from springtide.local.kinds.columns import AGE, NAME, age_of, name_of
from springtide.local.kinds.label_selectors import validate_selector
from springtide.local.kinds.strategy import Column, Obj, Strategy

GROUP = "rbac.authorization.k8s.io"
_SUBJECT_KINDS = ("ServiceAccount", "User", "Group")


# -------------------------------------------------------------------------------------------------------------- roles


def _validate_role(role: Obj) -> list[FieldError]:
    return _validate_rules(role, namespaced=True)


def _validate_cluster_role(role: Obj) -> list[FieldError]:
    errors = _validate_rules(role, namespaced=False)
    aggregation = role.get("aggregationRule")
    if aggregation is None:
        return errors
    path = "aggregationRule.clusterRoleSelectors"
    selectors = aggregation.get("clusterRoleSelectors") or ()
    if not selectors:
        errors.append(required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil"))
    for index, selector in enumerate(selectors):
        complaints = validate_selector(selector, f"{path}[{index}]")
        errors += complaints
        if complaints:
            # kube-apiserver prints the selector that it could not parse, which is nil.
            errors.append(invalid(f"{path}[{index}]", None, "invalid label selector."))
    return errors


def _validate_rules(role: Obj, namespaced: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, rule in enumerate(role.get("rules") or ()):
        errors += _validate_rule(rule, namespaced, f"rules[{index}]")
    return errors


def _validate_rule(rule: Obj, namespaced: bool, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if not rule.get("verbs"):
        errors.append(required(f"{path}.verbs", "verbs must contain at least one value"))
    if urls := rule.get("nonResourceURLs"):
        field = f"{path}.nonResourceURLs"
        if namespaced:
            errors.append(invalid(field, urls, "namespaced rules cannot apply to non-resource URLs"))
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            errors.append(invalid(field, urls, "rules cannot apply to both regular resources and non-resource URLs"))
        return errors
    if not rule.get("apiGroups"):
        errors.append(required(f"{path}.apiGroups", "resource rules must supply at least one api group"))
    if not rule.get("resources"):
        errors.append(required(f"{path}.resources", "resource rules must supply at least one resource"))
    return errors


# ----------------------------------------------------------------------------------------------------------- bindings


def _default_binding(binding: Obj) -> None:
    role = binding.setdefault("roleRef", {})
    if not role.get("apiGroup"):
        role["apiGroup"] = GROUP
    for subject in binding.get("subjects") or ():
        if subject.get("kind") in ("User", "Group") and not subject.get("apiGroup"):
            subject["apiGroup"] = GROUP


def _validate_role_binding(binding: Obj) -> list[FieldError]:
    return _validate_binding(binding, ("Role", "ClusterRole"), namespaced=True)


def _validate_cluster_role_binding(binding: Obj) -> list[FieldError]:
    return _validate_binding(binding, ("ClusterRole",), namespaced=False)


def _validate_binding(binding: Obj, role_kinds: Sequence[str], namespaced: bool) -> list[FieldError]:
    role = binding["roleRef"]
    group, kind, name = role.get("apiGroup", ""), role.get("kind", ""), role.get("name", "")
    errors: list[FieldError] = []
    if group != GROUP:
        errors.append(not_supported("roleRef.apiGroup", group, (GROUP,)))
    if kind not in role_kinds:
        errors.append(not_supported("roleRef.kind", kind, role_kinds))
    if not name:
        errors.append(required("roleRef.name"))
    errors += [invalid("roleRef.name", name, why) for why in names.path_segment(name)]
    for index, subject in enumerate(binding.get("subjects") or ()):
        errors += _validate_subject(subject, namespaced, f"subjects[{index}]")
    return errors


def _validate_subject(subject: Obj, namespaced: bool, path: str) -> list[FieldError]:
    kind, name, group = subject.get("kind", ""), subject.get("name", ""), subject.get("apiGroup", "")
    errors = [] if name else [required(f"{path}.name")]
    if kind == "ServiceAccount":
        if name:
            errors += [invalid(f"{path}.name", name, why) for why in names.dns_subdomain(name)]
        if group:
            errors.append(not_supported(f"{path}.apiGroup", group, ("",)))
        if not namespaced and not subject.get("namespace"):
            errors.append(required(f"{path}.namespace"))
    elif kind in _SUBJECT_KINDS:
        if group != GROUP:
            errors.append(not_supported(f"{path}.apiGroup", group, (GROUP,)))
    else:
        errors.append(not_supported(f"{path}.kind", kind, _SUBJECT_KINDS))
    return errors


def _keep_role(new: Obj, old: Obj) -> list[FieldError]:
    role = new["roleRef"]
    if role == old["roleRef"]:
        return []
    # Shown with the field names of the Go type, as by kube-apiserver.
    quoted = {"APIGroup": role.get("apiGroup", ""), "Kind": role.get("kind", ""), "Name": role.get("name", "")}
    return [invalid("roleRef", quoted, "cannot change roleRef")]


def _binding_columns(kind: str, role: str) -> tuple[Column, ...]:
    return (
        NAME,
        Column("Role", description=role),
        AGE,
        Column("Users", priority=1, description=f"Users in the {kind}"),
        Column("Groups", priority=1, description=f"Groups in the {kind}"),
        Column("ServiceAccounts", priority=1, description=f"ServiceAccounts in the {kind}"),
    )


def _binding_cells(binding: Obj, now: str) -> Sequence[Any]:
    role = binding["roleRef"]
    subjects: dict[str, list[str]] = {kind: [] for kind in _SUBJECT_KINDS}
    for subject in binding.get("subjects") or ():
        name, kind = subject.get("name", ""), subject.get("kind", "")
        shown = f"{subject.get('namespace', '')}/{name}" if kind == "ServiceAccount" else name
        subjects.setdefault(kind, []).append(shown)
    return (
        name_of(binding),
        f"{role.get('kind', '')}/{role.get('name', '')}",
        age_of(binding, now),
        ", ".join(subjects["User"]),
        ", ".join(subjects["Group"]),
        ", ".join(subjects["ServiceAccount"]),
    )


ROLE = Strategy(validate=_validate_role)
CLUSTER_ROLE = Strategy(validate=_validate_cluster_role)
ROLE_BINDING = Strategy(
    default=_default_binding,
    validate=_validate_role_binding,
    validate_update=_keep_role,
    columns=_binding_columns(
        "roleBinding",
        "RoleRef can reference a Role in the current namespace or a ClusterRole in the global namespace. "
        "If the RoleRef cannot be resolved, the Authorizer must return an error.",
    ),
    cells=_binding_cells,
)
CLUSTER_ROLE_BINDING = Strategy(
    default=_default_binding,
    validate=_validate_cluster_role_binding,
    validate_update=_keep_role,
    columns=_binding_columns(
        "clusterRoleBinding",
        "RoleRef can only reference a ClusterRole in the global namespace. "
        "If the RoleRef cannot be resolved, the Authorizer must return an error.",
    ),
    cells=_binding_cells,
)
