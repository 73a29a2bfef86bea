# SPDX-License-Identifier: Apache-2.0
"""RBAC: determines the rules that apply to a user, and whether one of them allows a request.

The API server passes every stored role and binding to `RbacIndex` and calls `authorize` for every request, so the
decision for a user, verb, resource and namespace is computed once and cached until any RBAC object changes. Object
names are not part of the cache key: for a rule with resourceNames the set of names is cached instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from springtide.local.access.attributes import Attributes, Decision
from springtide.local.access.identity import MASTERS, User, node_of, service_account_name
from springtide.local.access.nodes import own_node_only

GROUP: Final = "rbac.authorization.k8s.io"
Rule = dict[str, Any]

_CACHE_LIMIT: Final = 20_000  # cached decisions; an embedded cluster needs a few hundred


class AppliedRule(NamedTuple):
    """A rule that applies to a user, and the binding it comes from."""

    rule: Rule
    source: str


@dataclass(frozen=True, slots=True)
class _Answer:
    """The cached decision for one request, for all object names."""

    always: Decision | None
    named: Mapping[str, Decision]
    otherwise: Decision

    def for_name(self, name: str) -> Decision:
        return self.always or self.named.get(name, self.otherwise)


_YES: Final = Decision(True)
_NO: Final = Decision(False)


class RbacIndex:
    """The current roles and bindings, and the authorizer based on them."""

    def __init__(self) -> None:
        self._roles: dict[tuple[str, str], list[Rule]] = {}  # (namespace, name); cluster roles have no namespace
        self._bindings: dict[str, dict[str, dict[str, Any]]] = {}  # namespace -> name -> binding
        self._answers: dict[tuple[Any, ...], _Answer] = {}

    def put(self, resource: str, obj: Mapping[str, Any]) -> None:
        """Add or replace a role or binding (`roles`, `clusterroles`, `rolebindings`, `clusterrolebindings`)."""
        meta = obj["metadata"]
        namespace, name = meta.get("namespace", ""), meta["name"]
        if resource in ("roles", "clusterroles"):
            self._roles[namespace, name] = obj.get("rules") or []
        else:
            self._bindings.setdefault(namespace, {})[name] = {
                "name": name,
                "namespace": namespace,
                "roleRef": obj.get("roleRef") or {},
                "subjects": obj.get("subjects") or [],
            }
        self._answers.clear()

    def remove(self, resource: str, namespace: str, name: str) -> None:
        if resource in ("roles", "clusterroles"):
            self._roles.pop((namespace, name), None)
        else:
            self._bindings.get(namespace, {}).pop(name, None)
        self._answers.clear()

    def authorize(self, user: User, wanted: Attributes) -> Decision:
        if MASTERS in user.groups:
            return _YES
        key = (user.name, user.groups, *wanted[:4], wanted.namespace, wanted.path)
        answer = self._answers.get(key)
        if answer is None:
            if len(self._answers) >= _CACHE_LIMIT:
                self._answers.clear()
            answer = self._answers[key] = self._work_out(user, wanted)
        return answer.for_name(wanted.name)

    def rules_for(self, user: User, namespace: str) -> list[Rule]:
        """All rules that apply to a user in a namespace, as `SelfSubjectRulesReview` lists them."""
        return [applied.rule for applied in self.applied_rules(user, namespace, [])]

    def rules_of(self, role_ref: Mapping[str, Any], namespace: str) -> list[Rule] | None:
        """The rules of a binding's roleRef, or None when the role does not exist."""
        kind = role_ref.get("kind")
        if kind not in ("Role", "ClusterRole"):
            return None
        return self._roles.get((namespace if kind == "Role" else "", role_ref.get("name", "")))

    def applied_rules(self, user: User, namespace: str, missing: list[str]) -> Iterator[AppliedRule]:
        """Rules in kube-apiserver's order; messages about dangling roleRefs are appended to `missing`."""
        for scope in ("", namespace) if namespace else ("",):
            for binding in self._bindings.get(scope, {}).values():
                subject = _subject_for(user, binding["subjects"], scope)
                if subject is None:
                    continue
                rules = self.rules_of(binding["roleRef"], scope)
                if rules is None:
                    missing.append(_dangling(binding["roleRef"]))
                    continue
                source = _describe(binding, subject)
                yield from (AppliedRule(rule, source) for rule in rules)

    def _work_out(self, user: User, wanted: Attributes) -> _Answer:
        missing: list[str] = []
        applied = list(self.applied_rules(user, wanted.namespace, missing))
        otherwise = Decision(False, f"RBAC: {_aggregate(missing)}") if missing else _NO
        named: dict[str, Decision] = {}
        for rule, source in applied:
            if not matches(rule, wanted):
                continue
            granted = Decision(True, f"RBAC: allowed by {source}")
            names = rule.get("resourceNames") if not wanted.path else None
            if not names:
                return _Answer(granted, {}, otherwise)
            for name in names:
                named.setdefault(name, granted)
        return self._with_node_rules(user, wanted, _Answer(None, named, otherwise))

    def _with_node_rules(self, user: User, wanted: Attributes, answer: _Answer) -> _Answer:
        """Kubelets have the system:node role without a binding; `nodes` defines its limits."""
        node = node_of(user)
        rules = self._roles.get(("", "system:node"), []) if node else []
        if not any(matches(rule, wanted) for rule in rules):
            return answer
        limit = own_node_only(node, wanted)
        if limit is None:
            return _Answer(_YES, {}, answer.otherwise)
        named = {**answer.named, **dict.fromkeys(limit.names, _YES)}
        return _Answer(None, named, Decision(False, limit.refusal))


def matches(rule: Rule, wanted: Attributes) -> bool:
    """Whether a rule covers the request, ignoring its resourceNames."""
    verbs = rule.get("verbs") or ()
    if "*" not in verbs and wanted.verb not in verbs:
        return False
    if wanted.path:
        return any(_path_matches(pattern, wanted.path) for pattern in rule.get("nonResourceURLs") or ())
    groups = rule.get("apiGroups") or ()
    if "*" not in groups and wanted.group not in groups:
        return False
    resources = rule.get("resources") or ()
    return (
        "*" in resources
        or wanted.full_resource in resources
        or (wanted.subresource != "" and f"*/{wanted.subresource}" in resources)
    )


def _path_matches(pattern: str, path: str) -> bool:
    return pattern in ("*", path) or (pattern.endswith("*") and path.startswith(pattern.rstrip("*")))


def _subject_for(user: User, subjects: Iterable[Mapping[str, Any]], namespace: str) -> Mapping[str, Any] | None:
    return next((subject for subject in subjects if _applies(user, subject, namespace)), None)


def _applies(user: User, subject: Mapping[str, Any], namespace: str) -> bool:
    kind, name = subject.get("kind"), subject.get("name", "")
    if kind == "User":
        return user.name == str(name)
    if kind == "Group":
        return name in user.groups
    if kind == "ServiceAccount":
        home = subject.get("namespace") or namespace
        return bool(home) and user.name == service_account_name(home, name)
    return False


def _describe(binding: Mapping[str, Any], subject: Mapping[str, Any]) -> str:
    namespace, ref = binding["namespace"], binding["roleRef"]
    who = subject.get("name", "")
    if subject.get("kind") == "ServiceAccount":
        who = f"{who}/{subject.get('namespace') or namespace}"
    kind, name = (
        ("RoleBinding", f"{binding['name']}/{namespace}") if namespace else ("ClusterRoleBinding", binding["name"])
    )
    return f'{kind} "{name}" of {ref.get("kind")} "{ref.get("name")}" to {subject.get("kind")} "{who}"'


def _dangling(role_ref: Mapping[str, Any]) -> str:
    kind, name = role_ref.get("kind", ""), role_ref.get("name", "")
    if kind not in ("Role", "ClusterRole"):
        return f'unsupported role reference kind: "{kind}"'
    return f'{kind.lower()}.{GROUP} "{name}" not found'


def _aggregate(messages: list[str]) -> str:
    unique = list(dict.fromkeys(messages))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"
