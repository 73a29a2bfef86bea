# SPDX-License-Identifier: Apache-2.0
"""Scheduling constraints of a pod: node selectors, affinity, tolerations and topology spread."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from springtide.api.field_errors import FieldError, duplicate, forbidden, invalid, not_supported, required
from springtide.local.kinds import names
from springtide.local.kinds.basic.nodes import validate_effect
from springtide.local.kinds.label_selectors import validate_selector
from springtide.local.kinds.strategy import Obj

_OPERATOR = "not a valid selector operator"
_TERMS = (
    ("requiredDuringSchedulingIgnoredDuringExecution", False),
    ("preferredDuringSchedulingIgnoredDuringExecution", True),
)


def match_own_labels(pod: Obj) -> None:
    """Add `matchLabelKeys` to the selectors, in place: they select pods with the same label values as this pod."""
    labels: Mapping[str, str] = pod["metadata"].get("labels") or {}
    spec: Obj = pod["spec"]
    for constraint in spec.get("topologySpreadConstraints") or ():
        _match_labels(constraint, labels)
    affinity: Obj = spec.get("affinity") or {}
    for side in ("podAffinity", "podAntiAffinity"):
        terms: Obj = affinity.get(side) or {}
        for field, weighted in _TERMS:
            for term in terms.get(field) or ():
                _match_labels(term.get("podAffinityTerm") or {} if weighted else term, labels)


def _match_labels(term: Obj, labels: Mapping[str, str]) -> None:
    selector = term.get("labelSelector")
    if selector is None:
        return
    for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
        for key in term.get(field) or ():
            if key in labels:
                need = {"key": key, "operator": operator, "values": [labels[key]]}
                selector.setdefault("matchExpressions", []).append(need)


def validate_affinity(affinity: Obj, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if (node := affinity.get("nodeAffinity")) is not None:
        errors += _validate_node_affinity(node, f"{path}.nodeAffinity")
    for side in ("podAffinity", "podAntiAffinity"):
        if terms := affinity.get(side):
            errors += _validate_pod_affinity(terms, f"{path}.{side}")
    return errors


def _validate_node_affinity(affinity: Obj, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    (must, _), (may, _) = _TERMS
    if (needed := affinity.get(must)) is not None:
        errors += validate_node_selector(needed, f"{path}.{must}")
    for index, term in enumerate(affinity.get(may) or ()):
        where = f"{path}.{may}[{index}]"
        errors += _validate_weight(term, where)
        errors += _validate_node_term(term.get("preference") or {}, f"{where}.preference", values_too=False)
    return errors


def validate_node_selector(selector: Obj, path: str) -> list[FieldError]:
    terms = selector.get("nodeSelectorTerms")
    if not terms:
        return [required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")]
    errors: list[FieldError] = []
    for index, term in enumerate(terms):
        errors += _validate_node_term(term, f"{path}.nodeSelectorTerms[{index}]")
    return errors


def _validate_node_term(term: Obj, path: str, values_too: bool = True) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, need in enumerate(term.get("matchExpressions") or ()):
        where = f"{path}.matchExpressions[{index}]"
        errors += _validate_node_expression(need, where)
        if values_too:
            errors += [
                invalid(f"{where}.values[{position}]", value, why)
                for position, value in enumerate(need.get("values") or ())
                for why in names.label_value(value)
            ]
    for index, need in enumerate(term.get("matchFields") or ()):
        errors += _validate_node_field(need, f"{path}.matchFields[{index}]")
    return errors


def _validate_node_expression(need: Obj, path: str) -> list[FieldError]:
    operator, values, key = need.get("operator", ""), need.get("values") or [], need.get("key", "")
    errors: list[FieldError] = []
    if operator in ("In", "NotIn"):
        if not values:
            errors.append(required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(forbidden(f"{path}.values", why))
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            why = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            errors.append(required(f"{path}.values", why))
    else:
        errors.append(invalid(f"{path}.operator", operator, _OPERATOR))
    return errors + [invalid(f"{path}.key", key, why) for why in names.qualified_name(key)]


def _validate_node_field(need: Obj, path: str) -> list[FieldError]:
    operator, values, key = need.get("operator", ""), need.get("values") or [], need.get("key", "")
    errors: list[FieldError] = []
    if operator not in ("In", "NotIn"):
        errors.append(invalid(f"{path}.operator", operator, _OPERATOR))
    elif len(values) != 1:
        why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        errors.append(required(f"{path}.values", why))
    if key != "metadata.name":
        return [*errors, invalid(f"{path}.key", key, "not a valid field selector key")]
    for index, value in enumerate(values):
        errors += [invalid(f"{path}.values[{index}]", value, why) for why in names.dns_subdomain(value)]
    return errors


def _validate_weight(term: Obj, path: str) -> list[FieldError]:
    weight = term.get("weight", 0)
    return [] if 0 < weight <= 100 else [invalid(f"{path}.weight", weight, "must be in the range 1-100")]


def _validate_pod_affinity(affinity: Obj, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for field, weighted in _TERMS:
        for index, term in enumerate(affinity.get(field) or ()):
            where = f"{path}.{field}[{index}]"
            if weighted:
                errors += _validate_weight(term, where)
                term, where = term.get("podAffinityTerm") or {}, f"{where}.podAffinityTerm"
            errors += _validate_pod_term(term, where)
    return errors


def _validate_pod_term(term: Obj, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for field in ("labelSelector", "namespaceSelector"):
        errors += validate_selector(term.get(field), f"{path}.{field}")
    for namespace in term.get("namespaces") or ():
        errors += [invalid(f"{path}.namespace", namespace, why) for why in names.dns_label(namespace)]
    errors += _validate_label_keys(term, path)
    key = term.get("topologyKey", "")
    if not key:
        errors.append(required(f"{path}.topologyKey", "can not be empty"))
    return errors + [invalid(f"{path}.topologyKey", key, why) for why in names.qualified_name(key)]


def _validate_label_keys(term: Obj, path: str) -> list[FieldError]:
    selector, wanted = term.get("labelSelector"), term.get("matchLabelKeys") or []
    unwanted = term.get("mismatchLabelKeys") or []
    errors: list[FieldError] = []
    for field, keys in (("matchLabelKeys", wanted), ("mismatchLabelKeys", unwanted)):
        if keys and selector is None:
            errors.append(forbidden(f"{path}.{field}", "must not be specified when labelSelector is not set"))
            continue
        for index, key in enumerate(keys):
            errors += [invalid(f"{path}.{field}[{index}]", key, why) for why in names.qualified_name(key)]
    places = {key: index for index, key in reversed(list(enumerate(wanted)))}
    for key in _keys_said_twice(selector or {}, places):
        errors.append(invalid(f"{path}[{places[key]}]", key, "exists in both matchLabelKeys and labelSelector"))
    both = places.keys() & set(unwanted)
    for index, key in enumerate(wanted):
        if key in both:
            why = "exists in both matchLabelKeys and mismatchLabelKeys"
            errors.append(invalid(f"{path}.matchLabelKeys[{index}]", key, why))
    return errors


def _keys_said_twice(selector: Obj, keys: Collection[str]) -> Iterable[str]:
    """Keys with two requirements: the selector has one for each of `keys` by now, so a second one is the user's."""
    seen = set(selector.get("matchLabels") or ())
    for need in selector.get("matchExpressions") or ():
        key = need.get("key", "")
        if key in keys and key in seen:
            yield key
        seen.add(key)


def validate_tolerations(tolerations: Sequence[Obj], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, toleration in enumerate(tolerations):
        key, operator = toleration.get("key", ""), toleration.get("operator", "")
        errors += _validate_toleration(toleration, key, operator, f"{path}[{index}]")
    return errors


def _validate_toleration(toleration: Obj, key: str, operator: str, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if key:
        errors += [invalid(f"{path}.key", key, why) for why in names.qualified_name(key)]
    elif operator != "Exists":
        why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        errors.append(invalid(f"{path}.operator", operator, why))
    effect = toleration.get("effect", "")
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        errors.append(invalid(f"{path}.effect", effect, why))
    errors += _validate_toleration_value(toleration.get("value", ""), operator, path)
    return errors + (validate_effect(effect, f"{path}.effect") if effect else [])


def _validate_toleration_value(value: str, operator: str, path: str) -> list[FieldError]:
    if operator in ("", "Equal"):
        complaints = names.label_value(value)
        return [invalid(f"{path}.operator", value, ";".join(complaints))] if complaints else []
    if operator == "Exists":
        why = "value must be empty when `operator` is 'Exists'"
        return [invalid(f"{path}.operator", value, why)] if value else []
    known = ("Equal", "Exists", "Lt", "Gt") if operator in ("Lt", "Gt") else ("Equal", "Exists")
    return [not_supported(f"{path}.operator", operator, known)]


def validate_spread(constraints: Sequence[Obj], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    pairs = [(one.get("topologyKey", ""), one.get("whenUnsatisfiable", "")) for one in constraints]
    last = {pair: index for index, pair in enumerate(pairs)}
    for index, (constraint, pair) in enumerate(zip(constraints, pairs, strict=True)):
        where = f"{path}[{index}]"
        errors += _validate_constraint(constraint, where)
        if last[pair] > index:
            errors.append(duplicate(f"{where}.{{topologyKey, whenUnsatisfiable}}", f"{{{pair[0]}, {pair[1]}}}"))
        errors += _validate_inclusion(constraint, where)
        errors += _validate_label_keys(constraint, where)
        errors += validate_selector(constraint.get("labelSelector"), f"{where}.labelSelector")
    return errors


def _validate_constraint(constraint: Obj, path: str) -> list[FieldError]:
    skew, action = constraint.get("maxSkew", 0), constraint.get("whenUnsatisfiable", "")
    errors: list[FieldError] = []
    if skew <= 0:
        errors.append(invalid(f"{path}.maxSkew", skew, "must be greater than zero"))
    if not constraint.get("topologyKey"):
        errors.append(required(f"{path}.topologyKey", "can not be empty"))
    if action not in ("DoNotSchedule", "ScheduleAnyway"):
        errors.append(not_supported(f"{path}.whenUnsatisfiable", action, ("DoNotSchedule", "ScheduleAnyway")))
    return errors


def _validate_inclusion(constraint: Obj, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    domains, action = constraint.get("minDomains"), constraint.get("whenUnsatisfiable", "")
    if domains is not None and domains <= 0:
        errors.append(invalid(f"{path}.minDomains", domains, "must be greater than zero"))
    if domains is not None and action != "DoNotSchedule":
        why = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        errors.append(invalid(f"{path}.minDomains", domains, why))
    for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        policy = constraint.get(field)
        if policy is not None and policy not in ("Honor", "Ignore"):
            errors.append(not_supported(f"{path}.{field}", policy, ("Honor", "Ignore")))
    return errors


def validate_gates(gates: Sequence[Obj], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, gate in enumerate(gates):
        name = gate.get("name", "")
        errors += [invalid(f"{path}[{index}]", name, why) for why in names.qualified_name(name)]
        if name in seen:
            errors.append(duplicate(f"{path}[{index}]", name))
        seen.add(name)
    return errors
