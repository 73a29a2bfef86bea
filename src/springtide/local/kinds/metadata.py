# SPDX-License-Identifier: Apache-2.0
"""Validation of `metadata`, common to all kinds.

The API server's create and update call these before the kind's own strategy, so that errors have kube-apiserver's
order. Only `metadata` is accessed here, except for the table of name rules by kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from springtide.api.field_errors import FieldError, forbidden, invalid, required, shown, too_long
from springtide.local.kinds import names
from springtide.local.kinds.names import Rule
from springtide.local.kinds.strategy import Obj

_encoded = msgspec.json.encode
IMMUTABLE = "field is immutable"
ANNOTATIONS_LIMIT = 256 * 1024
ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
STANDARD_FINALIZERS = frozenset({"kubernetes", ORPHAN, FOREGROUND})

NAME_RULES: Mapping[tuple[str, str], Rule] = {
    ("", "Namespace"): names.dns_label,
    ("", "Service"): names.dns_label,
    ("", "Event"): names.path_segment,
    ("rbac.authorization.k8s.io", "Role"): names.path_segment,
    ("rbac.authorization.k8s.io", "RoleBinding"): names.path_segment,
    ("rbac.authorization.k8s.io", "ClusterRole"): names.path_segment,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): names.path_segment,
}
"""By (group, kind); the name of every other kind is a DNS subdomain."""

CONDITIONAL_UPDATE_ONLY = frozenset(
    {
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
        ("coordination.k8s.io", "Lease"),
        ("policy", "PodDisruptionBudget"),
    }
)
"""Built-in kinds whose update must have a resourceVersion; custom resources need one too."""

GENERATED_BASE = 58


def name_rule(group: str, kind: str) -> Rule:
    return NAME_RULES.get((group, kind), names.dns_subdomain)


def generated_name(base: str, suffix: str) -> str:
    """`metadata.generateName` and five random letters, never longer than a DNS label."""
    return base[:GENERATED_BASE] + suffix


def validate_metadata(
    obj: Obj, namespaced: bool, name_rule: Rule, *, known_finalizers: bool = False
) -> list[FieldError]:
    """`known_finalizers`: a finalizer without prefix must be one of Kubernetes' own, as for all built-in kinds."""
    meta: Obj = obj.get("metadata") or {}
    errors: list[FieldError] = []
    if base := meta.get("generateName"):
        errors += [invalid("metadata.generateName", base, why) for why in name_rule(_with_any_suffix(base))]
    if name := meta.get("name"):
        errors += [invalid("metadata.name", name, why) for why in name_rule(name)]
    else:
        errors.append(required("metadata.name", "name or generateName is required"))
    errors += _validate_namespace(meta.get("namespace"), namespaced)
    if (generation := meta.get("generation", 0)) < 0:
        errors.append(invalid("metadata.generation", generation, names.NEGATIVE))
    _validate_common(meta, errors)
    if finalizers := meta.get("finalizers"):
        errors += _validate_finalizers(finalizers)
        if known_finalizers:
            errors += _validate_known_finalizers(finalizers)
    return errors


def validate_metadata_update(new: Obj, old: Obj) -> list[FieldError]:
    """Check an update: immutable fields and the common rules. The caller has already run `keep_system_fields`."""
    meta, before = new["metadata"], old["metadata"]
    errors: list[FieldError] = []
    if before.get("deletionTimestamp") and meta.get("finalizers"):
        errors += _validate_no_new_finalizers(meta["finalizers"], before.get("finalizers") or ())
    if not meta.get("resourceVersion"):
        errors.append(invalid("metadata.resourceVersion", "", "must be specified for an update"))
    if (generation := meta.get("generation", 0)) < before.get("generation", 0):
        errors.append(invalid("metadata.generation", generation, "must not be decremented"))
    for field, absent in _IMMUTABLE_FIELDS:
        value = meta.get(field, absent)
        if value != before.get(field, absent):
            errors.append(invalid(f"metadata.{field}", value, IMMUTABLE))
    _validate_common(meta, errors)
    return errors


_IMMUTABLE_FIELDS: tuple[tuple[str, str | None], ...] = (
    ("name", ""),
    ("namespace", ""),
    ("uid", ""),
    ("creationTimestamp", None),
    ("deletionTimestamp", None),
    ("deletionGracePeriodSeconds", None),
)


def keep_system_fields(new: Obj, old: Obj) -> None:
    """Before an update is validated, copy fields from the stored object that a writer may omit or must not change."""
    meta, before = new["metadata"], old["metadata"]
    if "generation" in before:
        meta["generation"] = before["generation"]
    else:
        meta.pop("generation", None)
    if not meta.get("uid") and "uid" in before:
        meta["uid"] = before["uid"]
    for field in ("creationTimestamp", "deletionTimestamp"):
        if before.get(field):
            meta[field] = before[field]
    if meta.get("deletionGracePeriodSeconds") is None and before.get("deletionGracePeriodSeconds") is not None:
        meta["deletionGracePeriodSeconds"] = before["deletionGracePeriodSeconds"]


def drop_duplicate_owners(obj: Obj, after_admission: bool = False) -> list[str]:
    """Keep the first of equal owner references, in place; returns texts for `Warning:` headers."""
    references = obj["metadata"].get("ownerReferences")
    if not references or len(references) == 1:
        return []
    kept: dict[bytes, Obj] = {}
    doubled: list[str] = []
    for reference in references:
        if kept.setdefault(_encoded(reference, order="deterministic"), reference) is not reference:
            doubled.append(reference.get("uid", ""))
    if not doubled:
        return []
    obj["metadata"]["ownerReferences"] = list(kept.values())
    when = " after mutating admission happens" if after_admission else ""
    return [
        f".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, "
        "and may reject such requests as early as 1.24; please fix your requests; "
        f"duplicate UID(s) observed: {', '.join(doubled)}"
    ]


def validate_labels(labels: Mapping[str, str], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for key, value in labels.items():
        errors += [invalid(path, key, why) for why in names.qualified_name(key)]
        errors += [invalid(path, value, why) for why in names.label_value(value)]
    return errors


def validate_annotations(annotations: Mapping[str, str], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    size = 0
    for key, value in annotations.items():
        size += len(key) + len(value)
        errors += [invalid(path, key, why) for why in names.qualified_name(key.lower())]
    if size > ANNOTATIONS_LIMIT // 4 and _bytes_of(annotations) > ANNOTATIONS_LIMIT:
        errors.append(too_long(path, ANNOTATIONS_LIMIT))
    return errors


def _bytes_of(texts: Mapping[str, str]) -> int:
    return sum(len(key.encode()) + len(value.encode()) for key, value in texts.items())


def _with_any_suffix(base: str) -> str:
    """Replace a trailing dash, which letters will follow, by a letter, as kube-apiserver does."""
    return base[:-2] + "a" if len(base) > 1 and base.endswith("-") else base


def _validate_namespace(namespace: str | None, namespaced: bool) -> Iterable[FieldError]:
    if not namespaced:
        return [forbidden("metadata.namespace", "not allowed on this type")] if namespace else ()
    if not namespace:
        return [required("metadata.namespace")]
    return [invalid("metadata.namespace", namespace, why) for why in names.dns_label(namespace)]


def _validate_common(meta: Obj, errors: list[FieldError]) -> None:
    if labels := meta.get("labels"):
        errors += validate_labels(labels, "metadata.labels")
    if annotations := meta.get("annotations"):
        errors += validate_annotations(annotations, "metadata.annotations")
    if references := meta.get("ownerReferences"):
        errors += _validate_owner_references(references)
    if managed := meta.get("managedFields"):
        errors += _validate_managed_fields(managed)


def _validate_owner_references(references: list[Obj]) -> list[FieldError]:
    path = "metadata.ownerReferences"
    errors: list[FieldError] = []
    first = ""
    for reference in references:
        errors += _validate_owner_reference(reference, path)
        if not reference.get("controller"):
            continue
        owner = f"{reference.get('kind', '')}/{reference.get('name', '')}"
        if first:
            why = 'Only one reference can have Controller set to true. Found "true" in references for '
            errors.append(invalid(path, references, f"{why}{first} and {owner}"))
        else:
            first = owner
    return errors


def _validate_owner_reference(reference: Obj, path: str) -> list[FieldError]:
    version, kind = reference.get("apiVersion", ""), reference.get("kind", "")
    errors: list[FieldError] = []
    if not version.rpartition("/")[2]:
        errors.append(invalid(f"{path}.apiVersion", version, "version must not be empty"))
    for field in ("kind", "name", "uid"):
        if not reference.get(field):
            errors.append(invalid(f"{path}.{field}", "", "must not be empty"))
    if version == "v1" and kind == "Event":
        errors.append(invalid(path, reference, "/v1, Kind=Event is disallowed from being an owner"))
    return errors


def _validate_finalizers(finalizers: list[str]) -> list[FieldError]:
    path = "metadata.finalizers"
    errors = [invalid(path, one, why) for one in finalizers for why in names.qualified_name(one)]
    if ORPHAN in finalizers and FOREGROUND in finalizers:
        errors.append(invalid(path, finalizers, f"finalizer {ORPHAN} and {FOREGROUND} cannot be both set"))
    return errors


def _validate_known_finalizers(finalizers: list[str]) -> list[FieldError]:
    why = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        invalid(f"metadata.finalizers[{index}]", one, why)
        for index, one in enumerate(finalizers)
        if "/" not in one and one not in STANDARD_FINALIZERS
    ]


def _validate_no_new_finalizers(finalizers: Iterable[str], before: Iterable[str]) -> list[FieldError]:
    extra = sorted(set(finalizers).difference(before))
    if not extra:
        return []
    listed = ", ".join(shown(one) for one in extra)
    why = "no new finalizers can be added if the object is being deleted, found new finalizers"
    return [forbidden("metadata.finalizers", f"{why} []string{{{listed}}}")]


def _validate_managed_fields(entries: list[dict[str, Any]]) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, entry in enumerate(entries):
        path = f"metadata.managedFields[{index}]"
        if (operation := entry.get("operation", "")) not in ("Apply", "Update"):
            errors.append(invalid(f"{path}.operation", operation, "must be `Apply` or `Update`"))
        if (kind := entry.get("fieldsType", "")) not in ("", "FieldsV1"):
            errors.append(invalid(f"{path}.fieldsType", kind, "must be `FieldsV1`"))
        if len(entry.get("manager", "").encode()) > 128:
            errors.append(too_long(f"{path}.manager", 128))
        if len(entry.get("subresource", "").encode()) > 256:
            errors.append(too_long(f"{path}.subresource", 256))
    return errors
