# SPDX-License-Identifier: Apache-2.0
"""CustomResourceDefinitions: their names, conversion and status.

`crd_versions` validates `spec.versions`; the API server calls `established` after every write.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from springtide.api.field_errors import FieldError, forbidden, invalid, not_supported, required
from springtide.local.kinds import names
from springtide.local.kinds.groups.admissionregistration import (
    default_webhook_port,
    validate_review_versions,
    validate_webhook_client,
)
from springtide.local.kinds.groups.crd_versions import (
    has_long_rules,
    unrecognized_formats,
    validate_updated_rules,
    validate_versions,
)
from springtide.local.kinds.metadata import IMMUTABLE
from springtide.local.kinds.strategy import Obj, Strategy

BUILT_IN = "springtide.dev/built-in"
"""Annotation of the cluster's built-in definitions."""
_APPROVED = "api-approved.kubernetes.io"
_APPROVAL_NOTE = "see https://github.com/kubernetes/enhancements/pull/1111"


# ------------------------------------------------------------------------------------------------------------ writing


def _default(crd: Obj) -> None:
    spec = crd.setdefault("spec", {})
    called = spec.setdefault("names", {})
    kind = called.get("kind", "")
    if not called.get("singular"):
        called["singular"] = kind.lower()
    if kind and not called.get("listKind"):
        called["listKind"] = f"{kind}List"
    if spec.get("conversion") is None:
        spec["conversion"] = {"strategy": "None"}
    default_webhook_port((spec["conversion"].get("webhook") or {}).get("clientConfig") or {})


def _storage_version(crd: Obj) -> str | None:
    versions = crd["spec"].get("versions") or ()
    return next((version.get("name", "") for version in versions if version.get("storage")), None)


def _prepare_create(crd: Obj) -> None:
    storage = _storage_version(crd)
    crd["status"] = {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": None if storage is None else [storage],
    }


def _prepare_update(new: Obj, old: Obj) -> None:
    """Add the storage version to the stored versions, from which only a migration removes it."""
    status = old.get("status") or {}
    stored, storage = status.get("storedVersions") or [], _storage_version(new)
    if storage is not None and storage not in stored:
        stored = [*stored, storage]
    new["status"] = status | {"storedVersions": stored}


# --------------------------------------------------------------------------------------------------------- validation


def _validate(crd: Obj) -> list[FieldError]:
    spec = crd["spec"]
    return [
        *_validate_name(crd),
        *_validate_group(spec.get("group", "")),
        *_validate_choice(spec.get("scope", ""), ("Cluster", "Namespaced"), "spec.scope"),
        *validate_versions(spec, is_update=_is_update(crd)),
        *_validate_required_names(spec["names"]),
        *_validate_names(spec["names"], "spec.names"),
        *_validate_conversion(spec["conversion"]),
        *_validate_names((crd.get("status") or {}).get("acceptedNames") or {}, "status.acceptedNames"),
        *_validate_stored_versions(crd),
        *_validate_approval(crd),
        *_validate_preserve(spec),
    ]


def _is_update(crd: Obj) -> bool:
    return bool(crd["metadata"].get("resourceVersion"))


def _validate_name(crd: Obj) -> list[FieldError]:
    name, spec = crd["metadata"].get("name", ""), crd["spec"]
    if _is_update(crd):
        return []  # both parts of the name are immutable
    if not name or name == f"{spec['names'].get('plural', '')}.{spec.get('group', '')}":
        return []
    return [invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')]


def _validate_group(group: str) -> list[FieldError]:
    if not group:
        return [required("spec.group")]
    if complaints := names.dns_subdomain(group):
        return [invalid("spec.group", group, ",".join(complaints))]
    return [] if "." in group else [invalid("spec.group", group, "should be a domain with at least one dot")]


def _validate_choice(value: str, allowed: Sequence[str], path: str) -> list[FieldError]:
    if not value:
        return [required(path)]
    return [] if value in allowed else [not_supported(path, value, allowed)]


# ----------------------------------------------------------------------------------- names, conversion, stored versions


def _validate_required_names(called: Obj) -> list[FieldError]:
    fields = ("plural", "singular", "kind", "listKind")
    return [required(f"spec.names.{field}") for field in fields if not called.get(field)]


def _validate_names(called: Obj, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for field, prefix in _NAME_FIELDS:
        text = called.get(field) or ""
        complaints = names.dns_1035_label(text.lower() if prefix else text) if text else ()
        if complaints:
            errors.append(invalid(f"{path}.{field}", text, prefix + ",".join(complaints)))
    kind = called.get("kind") or ""
    for field in ("shortNames", "categories"):
        if field == "categories" and kind and kind == called.get("listKind"):
            errors.append(invalid(f"{path}.listKind", kind, "kind and listKind may not be the same"))
        for index, text in enumerate(called.get(field) or ()):
            if complaints := names.dns_1035_label(text):
                errors.append(invalid(f"{path}.{field}[{index}]", text, ",".join(complaints)))
    return errors


_MIXED_CASE = "may have mixed case, but should otherwise match: "
_NAME_FIELDS = (("plural", ""), ("singular", ""), ("kind", _MIXED_CASE), ("listKind", _MIXED_CASE))


def _validate_conversion(conversion: Obj) -> list[FieldError]:
    path, strategy = "spec.conversion", conversion.get("strategy", "")
    webhook = conversion.get("webhook") or {}
    client, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or ()
    errors = _validate_choice(strategy, ("None", "Webhook"), f"{path}.strategy")
    if strategy != "Webhook":
        detail = "should not be set when strategy is not set to Webhook"
        if client is not None:
            errors.append(forbidden(f"{path}.webhookClientConfig", detail))
        if versions:
            errors.append(forbidden(f"{path}.conversionReviewVersions", detail))
        return errors
    if client is None:
        errors.append(required(f"{path}.webhookClientConfig", "required when strategy is set to Webhook"))
    else:
        errors += validate_webhook_client(client, f"{path}.webhookClientConfig")
    if versions:
        errors += validate_review_versions(versions, f"{path}.conversionReviewVersions")
    else:
        errors.append(required(f"{path}.conversionReviewVersions"))
    return errors


def _validate_stored_versions(crd: Obj) -> list[FieldError]:
    path, stored = "status.storedVersions", (crd.get("status") or {}).get("storedVersions") or []
    if not stored:
        return [invalid(path, None, "must have at least one stored version")]
    missing = dict.fromkeys(stored)
    errors: list[FieldError] = []
    for version in crd["spec"].get("versions") or ():
        name = version.get("name", "")
        if name in missing:
            del missing[name]
        elif version.get("storage"):
            errors.append(invalid(path, stored, f"must have the storage version {name}"))
    for index, name in enumerate(stored):
        if name in missing:
            detail = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {name} and removes "
                f"{name} from status.storedVersions"
            )
            errors.append(invalid(f"{path}[{index}]", name, detail))
    return errors


def _validate_approval(crd: Obj) -> list[FieldError]:
    """Kubernetes' own domains need an annotation with an approval or a reason."""
    group = f".{crd['spec'].get('group', '')}"
    if not group.endswith((".k8s.io", ".kubernetes.io")):
        return []
    path, approval = f"metadata.annotations[{_APPROVED}]", (crd["metadata"].get("annotations") or {}).get(_APPROVED, "")
    note = f'protected groups must have approval annotation "{_APPROVED}"'
    if not approval:
        return [required(path, f"{note}, {_APPROVAL_NOTE}")]
    url = urlsplit(approval)
    if approval.startswith("unapproved") or (url.scheme and url.netloc):
        return []
    detail = f'{note} with either a URL or a reason starting with "unapproved", {_APPROVAL_NOTE}'
    return [invalid(path, approval, detail)]


def _validate_preserve(spec: Obj) -> list[FieldError]:
    if not spec.get("preserveUnknownFields"):
        return []
    detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
    return [invalid("spec.preserveUnknownFields", True, detail)]


def _validate_update(new: Obj, old: Obj) -> list[FieldError]:
    spec, before = new["spec"], old["spec"]
    errors = validate_updated_rules(spec, before)
    if is_established(old):
        # Objects are stored under these.
        if spec.get("scope") != before.get("scope"):
            errors.append(invalid("spec.scope", spec.get("scope"), IMMUTABLE))
        errors += _keep_name(spec, before, "kind")
    if spec.get("group") != before.get("group"):
        errors.append(invalid("spec.group", spec.get("group"), IMMUTABLE))
    return errors + _keep_name(spec, before, "plural")


def _validates_long(crd: Obj) -> bool:
    return has_long_rules(crd["spec"])


def _keep_name(spec: Obj, before: Obj, field: str) -> list[FieldError]:
    name = spec["names"].get(field)
    return [] if name == before["names"].get(field) else [invalid(f"spec.names.{field}", name, IMMUTABLE)]


def _warnings(crd: Obj) -> list[str]:
    return [f'unrecognized format "{layout}"' for layout in unrecognized_formats(crd["spec"])]


def _validate_status(new: Obj, old: Obj) -> list[FieldError]:
    return _validate_names((new.get("status") or {}).get("acceptedNames") or {}, "status.acceptedNames")


# ------------------------------------------------------------------------------------------------------------- status


def is_established(crd: Obj) -> bool:
    conditions = (crd.get("status") or {}).get("conditions") or ()
    return any(one.get("type") == "Established" and one.get("status") == "True" for one in conditions)


def established(crd: Obj, now: str, others: Iterable[Obj]) -> Obj:
    """The status of a CRD: accepted names, which no other CRD of its group holds, and whether it is established.

    `others` may be all existing CRDs. Called whenever one of them is written or deleted: names released by one may be
    used by another.
    """
    status = crd.get("status") or {}
    resources, kinds = _taken(crd, others)
    accepted, complaint = _accept(crd["spec"]["names"], status.get("acceptedNames") or {}, resources, kinds)
    if complaint is None:
        names_accepted = ("True", "NoConflicts", "no conflicts found")
        serving = ("True", "InitialNamesAccepted", "the initial names have been accepted")
    else:
        names_accepted = ("False", *complaint)
        serving = ("False", "NotAccepted", "not all names are accepted")
    conditions = _with_condition(status.get("conditions") or [], "NamesAccepted", names_accepted, now)
    if not is_established(crd):
        conditions = _with_condition(conditions, "Established", serving, now)
    return status | {"conditions": conditions, "acceptedNames": accepted}


def _taken(crd: Obj, others: Iterable[Obj]) -> tuple[set[str], set[str]]:
    """The resource names and kinds held by the other CRDs of the group."""
    resources: set[str] = set()
    kinds: set[str] = set()
    group, name = crd["spec"].get("group"), crd["metadata"].get("name")
    for other in others:
        if other["spec"].get("group") != group or other["metadata"].get("name") == name:
            continue
        held = (other.get("status") or {}).get("acceptedNames") or {}
        resources.update((held.get("plural", ""), held.get("singular", ""), *(held.get("shortNames") or ())))
        kinds.update((held.get("kind", ""), held.get("listKind", "")))
    return resources, kinds


def _accept(wanted: Obj, held: Obj, resources: set[str], kinds: set[str]) -> tuple[Obj, tuple[str, str] | None]:
    """The accepted names, and the last conflict as (reason, message)."""
    accepted, complaint = dict(held), None
    for field, taken in (("plural", resources), ("singular", resources), ("shortNames", resources), *_kinds(kinds)):
        names_wanted, names_held = _listed(wanted.get(field)), _listed(held.get(field))
        used = [f'"{name}" is already in use' for name in names_wanted if name not in names_held and name in taken]
        if used:
            message = used[0] if len(used) == 1 else f"[{', '.join(dict.fromkeys(used))}]"
            complaint = (f"{field[0].upper()}{field[1:]}Conflict", message)
        elif wanted.get(field):
            accepted[field] = wanted[field]
        else:
            accepted.pop(field, None)
    if wanted.get("categories"):
        accepted["categories"] = wanted["categories"]
    else:
        accepted.pop("categories", None)
    return accepted, complaint


def _kinds(kinds: set[str]) -> tuple[tuple[str, set[str]], ...]:
    return ("kind", kinds), ("listKind", kinds)


def _listed(value: str | list[str] | None) -> list[str]:
    return [value] if isinstance(value, str) else value or []


def _with_condition(conditions: list[Obj], kind: str, state: tuple[str, str, str], now: str) -> list[Obj]:
    status, reason, message = state
    condition: Obj = {"type": kind, "status": status, "lastTransitionTime": now, "reason": reason, "message": message}
    for index, current in enumerate(conditions):
        if current.get("type") == kind:
            if current.get("status") == status and current.get("lastTransitionTime"):
                condition["lastTransitionTime"] = current["lastTransitionTime"]
            return [*conditions[:index], current | condition, *conditions[index + 1 :]]
    return [*conditions, condition]


CUSTOM_RESOURCE_DEFINITION = Strategy(
    default=_default,
    prepare_create=_prepare_create,
    prepare_update=_prepare_update,
    validate=_validate,
    validate_update=_validate_update,
    validates_long=_validates_long,
    validate_status=_validate_status,
    has_status=True,
    has_generation=True,
    warnings=_warnings,
)
