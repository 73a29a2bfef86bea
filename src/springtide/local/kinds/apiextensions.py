# SPDX-License-Identifier: Apache-2.0
"""CustomResourceDefinitions: their names, versions and status. What a schema may say is the schema room's to judge.

Complaints name fields as kube-apiserver does, which has merged what all versions share before it looks: an equal
schema in every version is `spec.validation`, a different one `spec.versions[1].schema`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlsplit

from springtide.api.field_errors import FieldError, duplicate, forbidden, invalid, not_supported, required, too_many
from springtide.local.kinds import names
from springtide.local.kinds.admissionregistration import (
    default_webhook_port,
    validate_review_versions,
    validate_webhook_client,
)
from springtide.local.kinds.metadata import IMMUTABLE
from springtide.local.kinds.strategy import Obj, Strategy

_APPROVED = "api-approved.kubernetes.io"
_APPROVAL_NOTE = "see https://github.com/kubernetes/enhancements/pull/1111"
_COLUMN_TYPES = "boolean,date,integer,number,string"
_COLUMN_FORMATS = "byte,date,date-time,double,float,int32,int64,password"
_MAX_SELECTABLE_FIELDS = 8
_SCALE_PATHS = (
    ("specReplicasPath", (".spec.",), "should be a json path under .spec"),
    ("statusReplicasPath", (".status.",), "should be a json path under .status"),
    ("labelSelectorPath", (".spec.", ".status."), "should be a json path under either .spec or .status"),
)


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
    """A version that objects may be stored in from now on is remembered, and can only leave by a migration."""
    status = old.get("status") or {}
    stored, storage = status.get("storedVersions") or [], _storage_version(new)
    if storage is not None and storage not in stored:
        stored = [*stored, storage]
    new["status"] = status | {"storedVersions": stored}


# ------------------------------------------------------------------------------------------------ what versions share


class _Versions:
    """The versions of a CRD, with the fields they all share told apart."""

    def __init__(self, spec: Obj) -> None:
        self.all: Sequence[Obj] = spec.get("versions") or ()
        self.shared = {
            field
            for field in _PER_VERSION
            if all(self._value(version, field) == self._first(field) for version in self.all)
        }

    def _value(self, version: Obj, field: str) -> Any:
        return version.get(field) or None

    def _first(self, field: str) -> Any:
        return self._value(self.all[0], field)

    def places(self, field: str) -> Iterable[tuple[str, Obj]]:
        """Where a field is to be looked at: the path, and the version it is taken from."""
        if field in self.shared:
            return [(f"spec.{_PER_VERSION[field]}", self.all[0])] if self.all else []
        return [(f"spec.versions[{index}].{field}", version) for index, version in enumerate(self.all)]

    def quoted(self) -> list[Obj]:
        """With the field names of the server's own Go type, as kube-apiserver shows them."""
        return [
            {
                "Name": version.get("name", ""),
                "Served": version.get("served", False),
                "Storage": version.get("storage", False),
                "Deprecated": version.get("deprecated", False),
                "DeprecationWarning": version.get("deprecationWarning"),
                "Schema": self._own(version, "schema"),
                "Subresources": self._own(version, "subresources"),
                "AdditionalPrinterColumns": self._own(version, "additionalPrinterColumns"),
                "SelectableFields": self._own(version, "selectableFields"),
            }
            for version in self.all
        ]

    def _own(self, version: Obj, field: str) -> Any:
        return None if field in self.shared else self._value(version, field)


_PER_VERSION = {
    "schema": "validation",
    "subresources": "subresources",
    "additionalPrinterColumns": "additionalPrinterColumns",
    "selectableFields": "selectableFields",
}


# --------------------------------------------------------------------------------------------------------- validation


def _validate(crd: Obj) -> list[FieldError]:
    spec = crd["spec"]
    versions = _Versions(spec)
    return [
        *_validate_name(crd),
        *_validate_group(spec.get("group", "")),
        *_validate_choice(spec.get("scope", ""), ("Cluster", "Namespaced"), "spec.scope"),
        *_validate_schemas_present(versions),
        *_validate_versions(versions),
        *_validate_required_names(spec["names"]),
        *_validate_names(spec["names"], "spec.names"),
        *_validate_conversion(spec["conversion"]),
        *_validate_names((crd.get("status") or {}).get("acceptedNames") or {}, "status.acceptedNames"),
        *_validate_stored_versions(crd),
        *_validate_approval(crd),
        *_validate_preserve(spec),
    ]


def _validate_name(crd: Obj) -> list[FieldError]:
    name, spec = crd["metadata"].get("name", ""), crd["spec"]
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


def _schema(version: Obj) -> Obj | None:
    schema: Obj | None = (version.get("schema") or {}).get("openAPIV3Schema")
    return schema


def _validate_schemas_present(versions: _Versions) -> list[FieldError]:
    return [
        required(f"spec.versions[{index}].schema.openAPIV3Schema")
        for index, version in enumerate(versions.all)
        if _schema(version) is None
    ]


def _validate_versions(versions: _Versions) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, version in enumerate(versions.all):
        path, name = f"spec.versions[{index}]", version.get("name", "")
        if complaints := names.dns_1035_label(name):
            errors.append(invalid(f"{path}.name", name, ",".join(complaints)))
        errors += _validate_deprecation(version, f"{path}.deprecationWarning")
    called = [version.get("name", "") for version in versions.all]
    if len(set(called)) < len(called):
        errors.append(invalid("spec.versions", versions.quoted(), "must contain unique version names"))
    if sum(bool(version.get("storage")) for version in versions.all) != 1:
        detail = "must have exactly one version marked as storage version"
        errors.append(invalid("spec.versions", versions.quoted() or None, detail))
    for path, version in versions.places("schema"):
        errors += _validate_root_schema(version, f"{path}.openAPIV3Schema")
    for path, version in versions.places("subresources"):
        errors += _validate_scale((version.get("subresources") or {}).get("scale"), f"{path}.scale")
    for path, version in versions.places("additionalPrinterColumns"):
        for index, column in enumerate(version.get("additionalPrinterColumns") or ()):
            errors += _validate_column(column, f"{path}[{index}]")
    for path, version in versions.places("selectableFields"):
        errors += _validate_selectable_fields(version, path)
    return errors


def _validate_deprecation(version: Obj, path: str) -> list[FieldError]:
    warning = version.get("deprecationWarning")
    if warning is None:
        return []
    if not version.get("deprecated"):
        return [invalid(path, warning, "can only be set for deprecated versions")]
    errors: list[FieldError] = []
    if len(warning.encode()) > 256:
        errors.append(invalid(path, warning, "must be <= 256 characters long"))
    if not warning:
        errors.append(invalid(path, warning, "must not be an empty string"))
    strange = next((index for index, letter in enumerate(warning) if not letter.isprintable()), None)
    if strange is not None:
        found = f"non-printable character found at index {len(warning[:strange].encode())}"
        errors.append(invalid(path, warning, f"must only contain printable UTF-8 characters; {found}"))
    return errors


def _validate_root_schema(version: Obj, path: str) -> list[FieldError]:
    schema = _schema(version)
    if schema is None:
        return []
    if schema.get("nullable"):
        return [forbidden(f"{path}.nullable", "nullable cannot be true at the root")]
    return []


# ------------------------------------------------------------------------------- subresources, columns, field selectors


def _validate_scale(scale: Obj | None, path: str) -> list[FieldError]:
    if scale is None:
        return []
    errors: list[FieldError] = []
    for field, prefixes, otherwise in _SCALE_PATHS:
        text = scale.get(field) or ""
        if not text:
            if field != "labelSelectorPath":
                errors.append(required(f"{path}.{field}"))
        elif not text.startswith("."):
            errors.append(invalid(f"{path}.{field}", text, "must be a simple json path starting with ."))
        elif not text.startswith(prefixes):
            errors.append(invalid(f"{path}.{field}", text, otherwise))
    return errors


def _validate_column(column: Obj, path: str) -> list[FieldError]:
    kind, layout, json_path = column.get("type", ""), column.get("format", ""), column.get("jsonPath", "")
    errors = [] if column.get("name") else [required(f"{path}.name")]
    if not kind:
        errors.append(required(f"{path}.type", f"must be one of {_COLUMN_TYPES}"))
    elif kind not in _COLUMN_TYPES.split(","):
        errors.append(invalid(f"{path}.type", kind, f"must be one of {_COLUMN_TYPES}"))
    if layout and layout not in _COLUMN_FORMATS.split(","):
        errors.append(invalid(f"{path}.format", layout, f"must be one of {_COLUMN_FORMATS}"))
    if not json_path:
        errors.append(required(f"{path}.JSONPath"))
    elif not json_path.startswith("."):
        errors.append(invalid(f"{path}.JSONPath", json_path, "must be a simple json path starting with ."))
    return errors


def _validate_selectable_fields(version: Obj, path: str) -> list[FieldError]:
    fields, schema = version.get("selectableFields") or (), _schema(version)
    if not fields or schema is None:
        return []
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, entry in enumerate(fields):
        field, text = f"{path}[{index}].jsonPath", entry.get("jsonPath", "")
        if not text:
            errors.append(required(field))
            continue
        try:
            found = _follow(text, schema)
        except ValueError as error:
            errors.append(invalid(field, text, f"is an invalid path: {error}"))
            continue
        if text.startswith((".metadata.", ".metadata[")) or text == ".metadata":
            errors.append(invalid(field, text, "must not point to fields in metadata"))
        if found.get("type") not in ("string", "boolean", "integer"):
            detail = "must point to a field of type string, boolean or integer. Enum string fields and strings with "
            errors.append(invalid(field, text, f"{detail}formats are allowed."))
        if text in seen:
            errors.append(duplicate(field, text))
        seen.add(text)
    if len(seen) > _MAX_SELECTABLE_FIELDS:
        errors.append(too_many(path, len(seen), _MAX_SELECTABLE_FIELDS))
    return errors


def _follow(text: str, schema: Obj) -> Obj:
    """The schema that `.spec.colour` leads to; ValueError says why it leads nowhere."""
    start, *steps = text.split(".")
    if start:
        raise ValueError("array notation is not allowed" if start[0] == "[" else f"expected [ or . but got: {start}")
    for step in steps:
        name, bracket, _ = step.partition("[")
        if not step:
            raise ValueError("unexpected end of JSON path" if step is steps[-1] else "does not refer to a valid field")
        properties, additional = schema.get("properties"), schema.get("additionalProperties")
        following = additional if properties is None else properties.get(name)
        if not isinstance(following, dict):
            raise ValueError("does not refer to a valid field")
        if bracket:
            raise ValueError("array notation is not allowed")
        schema = following
    return schema


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
    served = {version.get("name", "") for version in crd["spec"].get("versions") or ()}
    storage = _storage_version(crd)
    errors: list[FieldError] = []
    if storage is not None and storage not in stored:
        errors.append(invalid(path, stored, f"must have the storage version {storage}"))
    for index, name in enumerate(stored):
        if name not in served:
            detail = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {name} and removes "
                f"{name} from status.storedVersions"
            )
            errors.append(invalid(f"{path}[{index}]", name, detail))
    return errors


def _validate_approval(crd: Obj) -> list[FieldError]:
    """Kubernetes keeps its own domains to itself unless someone says why not."""
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
    errors: list[FieldError] = []
    if is_established(old):
        # Objects are stored under these.
        if spec.get("scope") != before.get("scope"):
            errors.append(invalid("spec.scope", spec.get("scope"), IMMUTABLE))
        errors += _keep_name(spec, before, "kind")
    if spec.get("group") != before.get("group"):
        errors.append(invalid("spec.group", spec.get("group"), IMMUTABLE))
    return errors + _keep_name(spec, before, "plural")


def _keep_name(spec: Obj, before: Obj, field: str) -> list[FieldError]:
    name = spec["names"].get(field)
    return [] if name == before["names"].get(field) else [invalid(f"spec.names.{field}", name, IMMUTABLE)]


def _validate_status(new: Obj, old: Obj) -> list[FieldError]:
    return _validate_names((new.get("status") or {}).get("acceptedNames") or {}, "status.acceptedNames")


# ------------------------------------------------------------------------------------------------------------- status


def is_established(crd: Obj) -> bool:
    conditions = (crd.get("status") or {}).get("conditions") or ()
    return any(one.get("type") == "Established" and one.get("status") == "True" for one in conditions)


def established(crd: Obj, now: str, others: Iterable[Obj]) -> Obj:
    """The status a CRD should have: names no other CRD of its group holds, and that it is served.

    `others` may be all CRDs there are. Called whenever one of them is written or gone: a name given up by one may be
    taken by another.
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
    """The resource names and kinds that CRDs of the same group hold."""
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
    """The names it may have, and the last conflict as (reason, message)."""
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
    validate_status=_validate_status,
    has_status=True,
    has_generation=True,
)
