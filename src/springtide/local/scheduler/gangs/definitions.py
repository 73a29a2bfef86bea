# SPDX-License-Identifier: Apache-2.0
"""The definitions of PodGroup and Queue, with the fields, defaults and columns of their own projects.

Manifests and operators written for Volcano or for scheduler-plugins therefore work unchanged. Fields that the embedded
scheduler ignores are accepted and kept.
"""

from __future__ import annotations

from typing import Final

from springtide.kube.resources import CUSTOMRESOURCEDEFINITIONS, Key, Obj

_QUANTITY: Final = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)

STRING: Final[Obj] = {"type": "string"}
BOOLEAN: Final[Obj] = {"type": "boolean"}
NUMBER: Final[Obj] = {"type": "integer", "format": "int32"}
TIME: Final[Obj] = {"type": "string", "format": "date-time"}
AMOUNTS: Final[Obj] = {
    "type": "object",
    "additionalProperties": {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "pattern": _QUANTITY,
        "x-kubernetes-int-or-string": True,
    },
}


def _object(**properties: Obj) -> Obj:
    return {"type": "object", "properties": properties}


def _list(items: Obj) -> Obj:
    return {"type": "array", "items": items}


def _column(name: str, path: str, kind: str = "string", priority: int = 0) -> Obj:
    column: Obj = {"name": name, "jsonPath": path, "type": kind}
    return column | ({"priority": priority} if priority else {})


def _definition(group: str, names: Obj, scope: str, version: Obj, annotations: dict[str, str] | None = None) -> Obj:
    definition = CUSTOMRESOURCEDEFINITIONS.describe(Key("", f"{names['plural']}.{group}"))
    if annotations:
        definition["metadata"]["annotations"] = annotations
    return definition | {"spec": {"group": group, "names": names, "scope": scope, "versions": [version]}}


def _version(name: str, spec: Obj, status: Obj, columns: list[Obj], *, status_apart: bool) -> Obj:
    schema = _object(apiVersion=STRING, kind=STRING, metadata={"type": "object"}, spec=spec, status=status)
    return {
        "name": name,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}} if status_apart else {},
        "additionalPrinterColumns": columns,
    }


def _names(kind: str, *short: str) -> Obj:
    singular = kind.lower()
    return {
        "kind": kind,
        "listKind": f"{kind}List",
        "plural": f"{singular}s",
        "singular": singular,
        "shortNames": [*short],
    }


_AGE: Final = ".metadata.creationTimestamp"

_VOLCANO_GROUP_SPEC: Final = _object(
    minMember=NUMBER,
    minResources=AMOUNTS,
    minTaskMember={"type": "object", "additionalProperties": NUMBER},
    networkTopology=_object(
        highestTierAllowed={"type": "integer", "default": 1},
        mode={"type": "string", "default": "hard", "enum": ["hard", "soft"]},
    ),
    preemptable=BOOLEAN,
    priorityClassName=STRING,
    queue={"type": "string", "default": "default"},
)

_VOLCANO_GROUP_STATUS: Final = _object(
    conditions=_list(
        _object(lastTransitionTime=TIME, message=STRING, reason=STRING, status=STRING, transitionID=STRING, type=STRING)
    ),
    failed=NUMBER,
    phase=STRING,
    running=NUMBER,
    succeeded=NUMBER,
)

VOLCANO_GROUP: Final = _definition(
    "scheduling.volcano.sh",
    _names("PodGroup", "pg", "podgroup-v1beta1"),
    "Namespaced",
    _version(
        "v1beta1",
        _VOLCANO_GROUP_SPEC,
        _VOLCANO_GROUP_STATUS,
        [
            _column("STATUS", ".status.phase"),
            _column("minMember", ".spec.minMember", "integer"),
            _column("RUNNINGS", ".status.running", "integer"),
            _column("AGE", _AGE, "date"),
            _column("QUEUE", ".spec.queue", priority=1),
        ],
        status_apart=False,
    ),
)

_NODE_GROUPS: Final = _object(
    preferredDuringSchedulingIgnoredDuringExecution=_list(STRING),
    requiredDuringSchedulingIgnoredDuringExecution=_list(STRING),
)

_QUEUE_SPEC: Final = _object(
    affinity=_object(nodeGroupAffinity=_NODE_GROUPS, nodeGroupAntiAffinity=_NODE_GROUPS),
    capability=AMOUNTS,
    deserved=AMOUNTS,
    extendClusters=_list(_object(capacity=AMOUNTS, name=STRING, weight=NUMBER)),
    guarantee=_object(resource=AMOUNTS),
    parent=STRING,
    priority=NUMBER,
    reclaimable=BOOLEAN,
    type=STRING,
    weight=NUMBER,
)

_QUEUE_STATUS: Final = _object(
    allocated=AMOUNTS,
    completed=NUMBER,
    inqueue=NUMBER,
    pending=NUMBER,
    reservation=_object(nodes=_list(STRING), resource=AMOUNTS),
    running=NUMBER,
    state=STRING,
    unknown=NUMBER,
) | {"required": ["allocated"]}

QUEUE: Final = _definition(
    "scheduling.volcano.sh",
    _names("Queue", "q", "queue-v1beta1"),
    "Cluster",
    _version("v1beta1", _QUEUE_SPEC, _QUEUE_STATUS, [_column("PARENT", ".spec.parent")], status_apart=True),
)

_PLUGIN_GROUP_SPEC: Final = _object(
    minMember=NUMBER | {"minimum": 1},
    minResources=AMOUNTS,
    scheduleTimeoutSeconds=NUMBER,
)

_PLUGIN_GROUP_STATUS: Final = _object(
    failed=NUMBER,
    occupiedBy=STRING,
    phase=STRING,
    running=NUMBER,
    scheduleStartTime=TIME,
    succeeded=NUMBER,
)

PLUGIN_GROUP: Final = _definition(
    "scheduling.x-k8s.io",
    _names("PodGroup", "pg", "pgs"),
    "Namespaced",
    _version(
        "v1alpha1",
        _PLUGIN_GROUP_SPEC,
        _PLUGIN_GROUP_STATUS,
        [
            _column("Phase", ".status.phase"),
            _column("MinMember", ".spec.minMember", "integer"),
            _column("Running", ".status.running", "integer"),
            _column("Succeeded", ".status.succeeded", "integer"),
            _column("Failed", ".status.failed", "integer"),
            _column("Age", _AGE, "date"),
        ],
        status_apart=True,
    ),
    {"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/scheduler-plugins/pull/50"},
)

DEFINITIONS: Final = (VOLCANO_GROUP, QUEUE, PLUGIN_GROUP)
