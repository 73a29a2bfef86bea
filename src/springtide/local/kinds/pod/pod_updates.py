# SPDX-License-Identifier: Apache-2.0
"""Validation of pod updates: few fields of the spec are mutable, and some status changes are forbidden."""

from __future__ import annotations

from collections.abc import Sequence

from springtide.api.field_errors import FieldError, forbidden, invalid, required, shown
from springtide.api.mirror_pods import MIRROR
from springtide.local.kinds import names
from springtide.local.kinds.metadata import IMMUTABLE
from springtide.local.kinds.pod.pod_scheduling import validate_tolerations
from springtide.local.kinds.pod.pod_security import in_go
from springtide.local.kinds.strategy import Obj

_UPDATABLE = (
    "`spec.containers[*].image`",
    "`spec.initContainers[*].image`",
    "`spec.activeDeadlineSeconds`",
    "`spec.tolerations` (only additions to existing tolerations)",
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
)
_FROZEN = f"pod updates may not change fields other than {','.join(_UPDATABLE)}"
_ONLY_ADDITIONS = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
_SYSTEM_CONDITIONS = frozenset({"PodScheduled", "Ready", "Initialized"})


def validate_pod_update(new: Obj, old: Obj) -> list[FieldError]:
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    errors = _validate_mirror(new["metadata"], old["metadata"])
    if spec == before:
        return errors
    for kind in ("containers", "initContainers"):
        found, stop = _validate_images(spec.get(kind) or (), before.get(kind) or (), f"spec.{kind}")
        errors += found
        if stop:
            return errors
    found, stop = _validate_deadline(spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds"))
    errors += found
    if stop:
        return errors
    errors += _validate_added_tolerations(spec.get("tolerations") or (), before.get("tolerations") or ())
    errors += _validate_removed_gates(spec.get("schedulingGates") or (), before.get("schedulingGates") or ())
    masked = _allowed_changes_aside(spec, before)
    if before.get("schedulingGates"):
        errors += _validate_narrowed_placement(masked, before)
    if masked != before:
        errors.append(forbidden("spec", f"{_FROZEN}\n{_difference(before, masked)}"))
    return errors


def _validate_mirror(new: Obj, old: Obj) -> list[FieldError]:
    hashed, before = ((meta.get("annotations") or {}).get(MIRROR) for meta in (new, old))
    if hashed == before:
        return []
    change = "add" if before is None else "remove or update"
    return [forbidden(f"metadata.annotations[{MIRROR}]", f"may not {change} mirror pod annotation")]


def _validate_images(new: Sequence[Obj], old: Sequence[Obj], path: str) -> tuple[list[FieldError], bool]:
    if len(new) != len(old):
        return [forbidden(path, "pod updates may not add or remove containers")], True
    return [required(f"{path}[{i}].image") for i, container in enumerate(new) if not container.get("image")], False


def _validate_deadline(deadline: int | None, before: int | None) -> tuple[list[FieldError], bool]:
    path = "spec.activeDeadlineSeconds"
    if deadline is None:
        if before is None:
            return [], False
        return [invalid(path, None, "must not update from a positive integer to nil value")], False
    if complaints := names.within(deadline, 0, 2**31 - 1):
        return [invalid(path, deadline, why) for why in complaints], True
    if before is not None and before < deadline:
        return [invalid(path, deadline, "must be less than or equal to previous value")], True
    return [], False


def _validate_added_tolerations(new: Sequence[Obj], old: Sequence[Obj]) -> list[FieldError]:
    if new == old:
        return []
    kept = [_without(toleration, "tolerationSeconds") for toleration in new]
    if any(_without(toleration, "tolerationSeconds") not in kept for toleration in old):
        why = "existing toleration can not be modified except its tolerationSeconds"
        return [forbidden("spec.tolerations", why)]
    return validate_tolerations(new, "spec.tolerations")


def _without(obj: Obj, field: str) -> Obj:
    return {key: value for key, value in obj.items() if key != field}


def _validate_removed_gates(new: Sequence[Obj], old: Sequence[Obj]) -> list[FieldError]:
    known = {gate.get("name") for gate in old}
    return [
        forbidden(
            f"spec.schedulingGates[{index}].name",
            f"only deletion is allowed, but found new scheduling gate '{gate.get('name', '')}'",
        )
        for index, gate in enumerate(new)
        if gate.get("name") not in known
    ]


def _allowed_changes_aside(spec: Obj, before: Obj) -> Obj:
    """The new spec with all mutable fields reset to their old values."""
    masked = dict(spec)
    for kind in ("containers", "initContainers"):
        if kind in spec:
            pairs = zip(spec[kind], before.get(kind) or (), strict=True)
            masked[kind] = [{**container, "image": was.get("image", "")} for container, was in pairs]
    for field in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        _put_back(masked, before, field)
    if before.get("terminationGracePeriodSeconds", 0) < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        _put_back(masked, before, "terminationGracePeriodSeconds")
    return masked


def _put_back(masked: Obj, before: Obj, field: str) -> None:
    masked.pop(field, None)
    if field in before:
        masked[field] = before[field]


def _validate_narrowed_placement(masked: Obj, before: Obj) -> list[FieldError]:
    """A gated pod's choice of nodes may only be narrowed; accepted changes are reset in `masked`."""
    errors: list[FieldError] = []
    selector, had = masked.get("nodeSelector") or {}, before.get("nodeSelector") or {}
    if selector != had:
        if any(selector.get(key) != value for key, value in had.items()):
            errors.append(invalid("spec.nodeSelector", selector, _ONLY_ADDITIONS))
        _put_back(masked, before, "nodeSelector")
    affinity, had_affinity = dict(masked.get("affinity") or {}), before.get("affinity") or {}
    node, had_node = affinity.get("nodeAffinity"), had_affinity.get("nodeAffinity")
    if node != had_node:
        errors += _validate_narrowed_affinity(node or {}, had_node or {})
        _put_back(affinity, had_affinity, "nodeAffinity")
        if affinity or "affinity" in before:
            masked["affinity"] = affinity
        else:
            masked.pop("affinity", None)
    return errors


def _validate_narrowed_affinity(new: Obj, old: Obj) -> list[FieldError]:
    field = "requiredDuringSchedulingIgnoredDuringExecution"
    path = f"spec.affinity.nodeAffinity.{field}.nodeSelectorTerms"
    had = (old.get(field) or {}).get("nodeSelectorTerms") or []
    if not had:
        return []
    terms = (new.get(field) or {}).get("nodeSelectorTerms") or []
    if len(terms) != len(had):
        return [invalid(path, terms, "no additions/deletions to non-empty NodeSelectorTerms list are allowed")]
    return [
        invalid(f"{path}[{index}]", _term_in_go(term), "only additions are allowed (no mutations or deletions)")
        for index, (term, was) in enumerate(zip(terms, had, strict=True))
        if not _only_adds(term, was)
    ]


def _term_in_go(term: Obj) -> Obj:
    shown = in_go(term, ("matchExpressions", "matchFields"))
    need = ("key", "operator", "values")
    return {field: needs and [in_go(one, need) for one in needs] for field, needs in shown.items()}


def _only_adds(term: Obj, was: Obj) -> bool:
    if not was.get("matchExpressions") and not was.get("matchFields"):
        return term == was  # an empty term matches nothing; filling it would widen the choice
    return all(
        need in (term.get(field) or ())
        for field in ("matchExpressions", "matchFields")
        for need in was.get(field) or ()
    )


def _difference(before: Obj, after: Obj) -> str:
    fields = sorted(field for field in before.keys() | after.keys() if before.get(field) != after.get(field))
    return "\n".join(f"- {f}: {shown(before.get(f))}\n+ {f}: {shown(after.get(f))}" for f in fields)


def validate_pod_status(new: Obj, old: Obj) -> list[FieldError]:
    status, before = new.get("status") or {}, old.get("status") or {}
    errors = _validate_conditions(status.get("conditions") or ())
    errors += _validate_nomination(status, before, old.get("spec") or {})
    if (generation := status.get("observedGeneration", 0)) < 0:
        errors.append(invalid("status.observedGeneration", generation, "must be a non-negative integer"))
    if status.get("qosClass") != before.get("qosClass"):
        errors.append(invalid("status.qosClass", status.get("qosClass", ""), IMMUTABLE))
    for field in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        errors += _validate_states(status.get(field) or (), before.get(field) or (), old.get("spec") or {}, field)
    errors += _validate_addresses(status, before, "podIPs")
    addresses = status.get("hostIPs")
    if addresses and addresses[0].get("ip") != status.get("hostIP", ""):
        errors.append(invalid("status.hostIPs[0].ip", addresses[0].get("ip", ""), "must be equal to `hostIP`"))
    return errors + _validate_addresses(status, before, "hostIPs")


def _validate_conditions(conditions: Sequence[Obj]) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, condition in enumerate(conditions):
        path, kind = f"status.conditions[{index}]", condition.get("type", "")
        if (generation := condition.get("observedGeneration", 0)) < 0:
            errors.append(invalid(f"{path}.observedGeneration", generation, "must be a non-negative integer"))
        if kind not in _SYSTEM_CONDITIONS:
            errors += [invalid(f"{path}.Type", kind, why) for why in names.qualified_name(kind)]
    return errors


def _validate_nomination(status: Obj, before: Obj, spec: Obj) -> list[FieldError]:
    path, node = "status.nominatedNodeName", status.get("nominatedNodeName", "")
    if not node or node == before.get("nominatedNodeName", ""):
        return []
    errors = [invalid(path, node, why) for why in names.dns_subdomain(node)]
    if spec.get("nodeName"):
        errors.append(forbidden(path, "may not be set on pods that are already bound to a node"))
    return errors


def _validate_states(new: Sequence[Obj], old: Sequence[Obj], spec: Obj, field: str) -> list[FieldError]:
    """A terminated container that may not restart must remain terminated."""
    errors: list[FieldError] = []
    running = {one.get("name") for one in new if not (one.get("state") or {}).get("terminated")}
    for index, status in enumerate(old):
        ended = (status.get("state") or {}).get("terminated")
        if ended is None or status.get("name") not in running:
            continue
        if not _may_restart(status.get("name", ""), ended.get("exitCode", 0), spec, field):
            why = "may not be transitioned to non-terminated state"
            errors.append(forbidden(f"status.{field}[{index}].state", why))
    return errors


def _may_restart(name: str, exit_code: int, spec: Obj, field: str) -> bool:
    if field == "ephemeralContainerStatuses":
        return False
    kind = "containers" if field == "containerStatuses" else "initContainers"
    everyone = (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
    if any(
        rule.get("action") == "RestartAllContainers" for c in everyone for rule in c.get("restartPolicyRules") or ()
    ):
        return True
    container = next((one for one in spec.get(kind) or () if one.get("name") == name), None)
    if container is None:
        return False
    if any(_matches(rule, exit_code) for rule in container.get("restartPolicyRules") or ()):
        return True
    policy = container.get("restartPolicy") or spec.get("restartPolicy")
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)


def _matches(rule: Obj, exit_code: int) -> bool:
    codes = rule.get("exitCodes") or {}
    found = exit_code in (codes.get("values") or ())
    return rule.get("action") == "Restart" and (found if codes.get("operator") == "In" else not found)


def _validate_addresses(status: Obj, before: Obj, field: str) -> list[FieldError]:
    addresses: Sequence[Obj] = status.get(field) or ()
    if addresses == before.get(field):
        return []
    errors: list[FieldError] = []
    for index, entry in enumerate(addresses):
        ip = entry.get("ip", "")
        errors += [invalid(f"status.{field}[{index}]", ip, why) for why in names.ip(ip)]
    if len(addresses) > 1 and (len(addresses) > 2 or len({":" in entry.get("ip", "") for entry in addresses}) < 2):
        why = "may specify no more than one IP for each IP family"
        errors.append(invalid(f"status.{field}", [{"IP": entry.get("ip", "")} for entry in addresses], why))
    return errors
