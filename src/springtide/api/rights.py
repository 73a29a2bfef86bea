# SPDX-License-Identifier: Apache-2.0
"""The rights of an operator, as the rules of a ClusterRole.

It creates Roles for launchers, and Kubernetes allows granting only rights that one has: hence `pods/exec`, by which it
also runs the scripts of scalers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from springtide.api.kinds.registry import RESOURCES
from springtide.api.kinds.resource import Resource

_READ: Final = ("get", "list", "watch")
_KEEP: Final = (*_READ, "create", "update", "patch", "delete")


def rules(resources: Sequence[Resource] = RESOURCES) -> list[dict[str, Any]]:
    own = [rule for resource in resources for rule in _of_kind(resource)]
    made = dict.fromkeys((each.group, each.plural) for resource in resources for each in resource.makes)
    return [
        *own,
        *(_rule(group, (plural,), _KEEP) for group, plural in made),
        _rule("", ("configmaps", "pods", "secrets", "serviceaccounts", "services"), _KEEP),
        _rule("", ("pods/exec",), ("get", "create")),
        _rule("", ("events",), ("list", "create", "patch")),
        _rule("", ("nodes",), _READ),
        _rule("batch", ("jobs",), _KEEP),
        _rule("rbac.authorization.k8s.io", ("rolebindings", "roles"), _KEEP),
        _rule("scheduling.volcano.sh", ("podgroups",), _KEEP),
        _rule("scheduling.x-k8s.io", ("podgroups",), _KEEP),
        _rule("scheduling.k8s.io", ("priorityclasses",), _READ),
        _rule("coordination.k8s.io", ("leases",), ("get", "create", "update")),
        _rule("admissionregistration.k8s.io", ("validatingwebhookconfigurations",), ("get", "create", "patch")),
    ]


def _of_kind(resource: Resource) -> list[dict[str, Any]]:
    """Users change jobs; the operator writes their status, and deletes those whose time to live is over. It writes the
    size of a job that a scaler has resized, and the scaler's owner and status."""
    group, plural, scalers = resource.group, resource.plural, [each.plural for each in resource.scalers]
    found = [
        _rule(group, (plural,), (*_READ, *(("patch",) if scalers else ()), "delete")),
        _rule(group, (f"{plural}/status",), ("patch",)),
        _rule(group, (f"{plural}/finalizers",), ("update",)),  # required by blockOwnerDeletion
    ]
    if scalers:
        found.append(_rule(group, scalers, (*_READ, "patch")))
        found.append(_rule(group, [f"{each}/status" for each in scalers], ("patch",)))
    return found


def _rule(group: str, resources: Sequence[str], verbs: Sequence[str]) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}
