# SPDX-License-Identifier: Apache-2.0
"""Nodes: resources and taints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from springtide.api.field_errors import FieldError, duplicate, forbidden, invalid, not_supported, required
from springtide.local.kinds import names
from springtide.local.kinds.basic.services_rules import validate_cidr
from springtide.local.kinds.columns import AGE, NAME, NONE, UNKNOWN, age_of, name_of
from springtide.local.kinds.pod.containers_resources import validate_amount
from springtide.local.kinds.strategy import Column, Obj, Strategy

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_ROLE_PREFIX, _ROLE = "node-role.kubernetes.io/", "kubernetes.io/role"
_NODE_INFO = (
    "machineID",
    "systemUUID",
    "bootID",
    "kernelVersion",
    "osImage",
    "containerRuntimeVersion",
    "kubeletVersion",
    "kubeProxyVersion",
    "operatingSystem",
    "architecture",
)


def _default_node(node: Obj) -> None:
    spec: Obj = node.setdefault("spec", {})
    if spec.get("podCIDR") and not spec.get("podCIDRs"):
        spec["podCIDRs"] = [spec["podCIDR"]]
    elif spec.get("podCIDRs") and not spec.get("podCIDR"):
        spec["podCIDR"] = spec["podCIDRs"][0]
    status: Obj = node.setdefault("status", {})
    if status.get("capacity") and status.get("allocatable") is None:
        status["allocatable"] = dict(status["capacity"])
    status.setdefault("daemonEndpoints", {}).setdefault("kubeletEndpoint", {}).setdefault("Port", 0)
    info = status.setdefault("nodeInfo", {})
    for field in _NODE_INFO:
        info.setdefault(field, "")


def _drop_config(node: Obj) -> None:
    node["spec"].pop("configSource", None)
    node["status"].pop("config", None)


def _drop_config_on_update(new: Obj, old: Obj) -> None:
    if "configSource" not in (old.get("spec") or {}):
        new["spec"].pop("configSource", None)


def _validate_node(node: Obj) -> list[FieldError]:
    spec = node.get("spec") or {}
    errors = _validate_taints(spec.get("taints") or (), "metadata.taints")
    errors += _validate_resources(node)
    ranges = spec.get("podCIDRs") or []
    for index, text in enumerate(ranges):
        errors += [invalid(f"spec.podCIDRs[{index}]", text, why) for why in validate_cidr(text)]
    if len(ranges) > 1 and (len(ranges) > 2 or (":" in ranges[0]) == (":" in ranges[1])):
        errors.append(invalid("spec.podCIDRs", ranges, "may specify no more than one CIDR for each IP family"))
    return errors


def _validate_taints(taints: Sequence[Obj], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        where = f"{path}[{index}]"
        key, value, effect = taint.get("key", ""), taint.get("value", ""), taint.get("effect", "")
        errors += [invalid(f"{where}.key", key, why) for why in names.qualified_name(key)]
        if complaints := names.label_value(value):
            errors.append(invalid(f"{where}.value", value, ";".join(complaints)))
        errors += validate_effect(effect, f"{where}.effect")
        if (key, effect) in seen:
            shown = {"Key": key, "Value": value, "Effect": effect, "TimeAdded": taint.get("timeAdded")}
            doubled = duplicate(where, shown)
            why = "taints must be unique by key and effect pair"
            errors.append(replace(doubled, message=f"{doubled.message}: {why}"))
        seen.add((key, effect))
    return errors


def validate_effect(effect: str, path: str) -> list[FieldError]:
    if effect in EFFECTS:
        return []
    return [not_supported(path, effect, EFFECTS) if effect else required(path)]


def _validate_resources(node: Obj) -> list[FieldError]:
    status = node.get("status") or {}
    errors: list[FieldError] = []
    for field in ("capacity", "allocatable"):
        for name, quantity in (status.get(field) or {}).items():
            errors += validate_amount(name, quantity, f"status.{field}.{name}")
    return errors


def _validate_node_update(new: Obj, old: Obj) -> list[FieldError]:
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    errors = _validate_unique_addresses(new)
    ranges = before.get("podCIDRs")
    if ranges and ranges != spec.get("podCIDRs"):
        why = 'node updates may not change podCIDR except from "" to valid'
        errors.append(forbidden("spec.podCIDRs", why))
    provider = before.get("providerID")
    if provider and provider != spec.get("providerID"):
        errors.append(forbidden("spec.providerID", 'node updates may not change providerID except from "" to valid'))
    if spec.get("externalID", "") != before.get("externalID", ""):
        errors.append(forbidden("spec.externalID", "may not be updated"))
    return errors


def _validate_unique_addresses(node: Obj) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[tuple[str, str]] = set()
    for index, address in enumerate((node.get("status") or {}).get("addresses") or ()):
        kind, text = address.get("type", ""), address.get("address", "")
        if (kind, text) in seen:
            errors.append(duplicate(f"status.addresses[{index}]", {"Type": kind, "Address": text}))
        seen.add((kind, text))
    return errors


def _validate_node_status(new: Obj, old: Obj) -> list[FieldError]:
    return _validate_resources(new) + _validate_unique_addresses(new)


def _node_warnings(node: Obj) -> list[str]:
    if (node.get("spec") or {}).get("externalID"):
        return ["spec.externalID: this field is deprecated, and is unused by Kubernetes"]
    return []


def _node_cells(node: Obj, now: str) -> Sequence[Any]:
    status = node.get("status") or {}
    info = status.get("nodeInfo") or {}
    kernel = info.get("kernelVersion") or UNKNOWN
    if info.get("architecture"):
        kernel = f"{kernel} ({info['architecture']})"
    return (
        name_of(node),
        _readiness(node),
        ",".join(_roles(node)) or NONE,
        age_of(node, now),
        info.get("kubeletVersion", ""),
        _address(status, "InternalIP"),
        _address(status, "ExternalIP"),
        info.get("osImage") or UNKNOWN,
        kernel,
        info.get("containerRuntimeVersion") or UNKNOWN,
    )


def _readiness(node: Obj) -> str:
    ready = [c for c in (node.get("status") or {}).get("conditions") or () if c.get("type") == "Ready"]
    word = "Unknown" if not ready else "Ready" if ready[-1].get("status") == "True" else "NotReady"
    return f"{word},SchedulingDisabled" if (node.get("spec") or {}).get("unschedulable") else word


def _roles(node: Obj) -> list[str]:
    roles: set[str] = set()
    for key, value in (node["metadata"].get("labels") or {}).items():
        if key.startswith(_ROLE_PREFIX):
            roles.add(key.removeprefix(_ROLE_PREFIX))
        elif key == _ROLE:
            roles.add(value)
    return sorted(roles - {""})


def _address(status: Obj, kind: str) -> str:
    found = (entry["address"] for entry in status.get("addresses") or () if entry.get("type") == kind)
    return next(found, NONE)


def _unschedulable(node: Obj) -> str:
    return "true" if (node.get("spec") or {}).get("unschedulable") else "false"


_ADDRESSES = (
    "List of addresses reachable to the node. Queried from cloud provider, if available. More info: "
    "https://kubernetes.io/docs/reference/node/node-status/#addresses Note: This field is declared as "
    "mergeable, but the merge key is not sufficiently unique, which can cause data corruption when it is "
    "merged. Callers should instead use a full-replacement patch. See https://pr.k8s.io/79391 for an "
    "example. Consumers should assume that addresses can change during the lifetime of a Node. However, "
    "there are some exceptions where this may not be possible, such as Pods that inherit a Node's address "
    "in its own status or consumers of the downward API (status.hostIP)."
)

NODE = Strategy(
    default=_default_node,
    prepare_create=_drop_config,
    prepare_update=_drop_config_on_update,
    validate=_validate_node,
    validate_update=_validate_node_update,
    validate_status=_validate_node_status,
    has_status=True,
    columns=(
        NAME,
        Column(
            "Status",
            description="The status of the node",
        ),
        Column(
            "Roles",
            description="The roles of the node",
        ),
        AGE,
        Column(
            "Version",
            description="Kubelet Version reported by the node.",
        ),
        Column(
            "Internal-IP",
            description=_ADDRESSES,
            priority=1,
        ),
        Column(
            "External-IP",
            description=_ADDRESSES,
            priority=1,
        ),
        Column(
            "OS-Image",
            description="OS Image reported by the node from /etc/os-release (e.g. Debian GNU/Linux 7 (wheezy)).",
            priority=1,
        ),
        Column(
            "Kernel-Version",
            description="Kernel Version reported by the node from 'uname -r' (e.g. 3.16.0-0.bpo.4-amd64).",
            priority=1,
        ),
        Column(
            "Container-Runtime",
            description=(
                "ContainerRuntime Version reported by the node through runtime remote API (e.g. containerd://1.4.2)."
            ),
            priority=1,
        ),
    ),
    cells=_node_cells,
    fields={"spec.unschedulable": _unschedulable},
    warnings=_node_warnings,
)
