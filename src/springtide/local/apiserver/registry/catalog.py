# SPDX-License-Identifier: Apache-2.0
"""Catalog of the built-in resources: discovery data, strategies, codecs, and special behaviour of single kinds."""

from __future__ import annotations

from functools import partial
from typing import Any

from springtide.local.apiserver.encoding.codecs import BuiltinCodec
from springtide.local.apiserver.registry.resources import ALL_VERBS, Resource, builtin_resource, discovery_data
from springtide.local.kinds.basic import events
from springtide.local.kinds.core import STRATEGIES as CORE
from springtide.local.kinds.groups import autoscaling
from springtide.local.kinds.metadata import name_rule
from springtide.local.kinds.other_groups import STRATEGIES as OTHERS
from springtide.local.kinds.strategy import Obj, Strategy

STRATEGIES = {**CORE, **OTHERS}

DEFAULT_GRACE = 30


def pod_grace(pod: Obj, wanted: int | None) -> int:
    """Grace period of a pod in seconds; 0 when it runs on no node or has ended."""
    spec, phase = pod.get("spec", {}), pod.get("status", {}).get("phase")
    grace = wanted if wanted is not None else spec.get("terminationGracePeriodSeconds", DEFAULT_GRACE)
    if grace < 0:
        grace = 1
    return 0 if not spec.get("nodeName") or phase in ("Succeeded", "Failed") else grace


def namespace_held(namespace: Obj) -> bool:
    return bool(namespace.get("spec", {}).get("finalizers"))


def namespace_deletion(namespace: Obj) -> None:
    namespace.setdefault("status", {})["phase"] = "Terminating"


_BEHAVIOURS: dict[tuple[str, str, str], dict[str, Any]] = {
    ("", "v1", "pods"): {"grace": pod_grace},
    ("", "v1", "namespaces"): {"held": namespace_held, "on_deletion": namespace_deletion},
    ("events.k8s.io", "v1", "events"): {"to_storage": events.as_core, "from_storage": events.as_events},
    # For `kubectl autoscale` of older releases. No updates: v1 lacks fields that v2 has, and would drop them.
    ("autoscaling", "v1", "horizontalpodautoscalers"): {
        "strategy": autoscaling.HORIZONTAL_POD_AUTOSCALER_V1,
        "to_storage": autoscaling.stored_from_v1,
        "from_storage": autoscaling.to_v1,
        "verbs": ALL_VERBS - {"update", "patch"},
        "subresources": {},
    },
}

_METRICS = frozenset({"get", "list"})


def builtin_resources() -> list[Resource]:
    found = []
    for document in discovery_data():
        group, version = document["group"], document["version"]
        for entry in document["resources"]:
            kind = entry["responseKind"]["kind"]
            parts: dict[str, Any] = {
                "strategy": STRATEGIES.get((group, kind), Strategy()),
                "make_codec": partial(BuiltinCodec, group, version, kind),
                "name_rule": name_rule(group, kind),
            }
            parts |= _BEHAVIOURS.get((group, version, entry["resource"]), {})
            found.append(builtin_resource(group, version, entry, **parts))
    return found + _metrics()


def _metrics() -> list[Resource]:
    """metrics.k8s.io: computed on request, not stored."""
    return [
        Resource(
            "metrics.k8s.io", "v1beta1", plural, kind, "", namespaced, Strategy(),
            partial(BuiltinCodec, "metrics.k8s.io", "v1beta1", kind), list_kind=f"{kind}List", verbs=_METRICS,
        )
        for plural, kind, namespaced in (("nodes", "NodeMetrics", False), ("pods", "PodMetrics", True))
    ]  # fmt: skip
