# SPDX-License-Identifier: Apache-2.0
"""ConfigMaps, Secrets and ServiceAccounts: small objects that pods read.

ConfigMaps are written more often than all other kinds (every elastic job has one with its host list), so their rules
must be fast.
"""

from __future__ import annotations

import binascii
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from springtide.api.field_errors import FieldError, forbidden, invalid, required, too_long
from springtide.local.kinds import names
from springtide.local.kinds.columns import AGE, NAME, age_of, name_of
from springtide.local.kinds.metadata import IMMUTABLE
from springtide.local.kinds.strategy import Column, Obj, Strategy

SIZE_LIMIT = 1024 * 1024
SEALED = "field is immutable when `immutable` is set"


def _validate_config_map(obj: Obj) -> list[FieldError]:
    errors: list[FieldError] = []
    data: Mapping[str, str] = obj.get("data") or {}
    binary: Mapping[str, str] = obj.get("binaryData") or {}
    size = 0
    for key, value in data.items():
        size += len(value)
        errors += [invalid(f"data[{key}]", key, why) for why in names.config_key(key)]
        if key in binary:
            errors.append(invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
    if size > SIZE_LIMIT // 4:  # few objects come near the limit, so bytes are counted only for those
        size = sum(len(value.encode()) for value in data.values())
    for key, value in binary.items():
        size += _decoded_size(value)
        errors += [invalid(f"binaryData[{key}]", key, why) for why in names.config_key(key)]
    if size > SIZE_LIMIT:
        errors.append(too_long("[]", SIZE_LIMIT))
    return errors


def _decoded_size(encoded: str) -> int:
    return len(encoded) * 3 // 4 - encoded.count("=", -2)


def _validate_sealed(new: Obj, old: Obj, fields: Iterable[str]) -> list[FieldError]:
    """`immutable: true` cannot be reverted, and the fields it protects cannot be changed."""
    if not old.get("immutable"):
        return []
    errors = [] if new.get("immutable") else [forbidden("immutable", SEALED)]
    errors += [forbidden(field, SEALED) for field in fields if (new.get(field) or {}) != (old.get(field) or {})]
    return errors


def _validate_config_map_update(new: Obj, old: Obj) -> list[FieldError]:
    return _validate_sealed(new, old, ("data", "binaryData"))


def _config_map_cells(obj: Obj, now: str) -> Sequence[Any]:
    return name_of(obj), len(obj.get("data") or ()) + len(obj.get("binaryData") or ()), age_of(obj, now)


CONFIG_MAP = Strategy(
    validate=_validate_config_map,
    validate_update=_validate_config_map_update,
    columns=(
        NAME,
        Column(
            "Data",
            description=(
                "Data contains the configuration data. Each key must consist of alphanumeric characters, '-', '_' or "
                "'.'. Values with non-UTF-8 byte sequences must use the BinaryData field. The keys stored in Data must "
                "not overlap with the keys in the BinaryData field, this is enforced during validation process."
            ),
        ),
        AGE,
    ),
    cells=_config_map_cells,
)


def _default_secret(obj: Obj) -> None:
    if not obj.get("type"):
        obj["type"] = "Opaque"
    if texts := obj.pop("stringData", None):
        data = obj.setdefault("data", {})
        for key, text in texts.items():
            data[key] = binascii.b2a_base64(text.encode(), newline=False).decode()


def _validate_secret(obj: Obj) -> list[FieldError]:
    errors: list[FieldError] = []
    data: Mapping[str, str] = obj.get("data") or {}
    size = 0
    for key, value in data.items():
        size += _decoded_size(value)
        errors += [invalid(f"data[{key}]", key, why) for why in names.config_key(key)]
    if size > SIZE_LIMIT:
        errors.append(too_long("data", SIZE_LIMIT))
    if (kind := obj.get("type", "")) in _SECRET_RULES:
        errors += _SECRET_RULES[kind](obj, data)
    return errors


_ACCOUNT = "kubernetes.io/service-account.name"


def _needs_account(obj: Obj, data: Mapping[str, str]) -> list[FieldError]:
    if (obj["metadata"].get("annotations") or {}).get(_ACCOUNT):
        return []
    return [required(f"metadata.annotations[{_ACCOUNT}]")]


def _needs_json(key: str, data: Mapping[str, str]) -> list[FieldError]:
    if key not in data:
        return [required(f"data[{key}]")]
    try:
        msgspec.json.decode(binascii.a2b_base64(data[key]), type=dict[str, Any])
    except msgspec.MsgspecError as problem:
        return [invalid(f"data[{key}]", "<secret contents redacted>", _as_go_says(str(problem)))]
    return []


def _as_go_says(problem: str) -> str:
    return "unexpected end of JSON input" if "truncated" in problem else problem


def _needs_login(obj: Obj, data: Mapping[str, str]) -> list[FieldError]:
    """One of the two may be missing, but not both."""
    if "username" in data or "password" in data:
        return []
    return [required("data[username]"), required("data[password]")]


def _needs_key_pair(obj: Obj, data: Mapping[str, str]) -> list[FieldError]:
    return [required(f"data[{key}]") for key in ("tls.crt", "tls.key") if key not in data]


def _needs_ssh_key(obj: Obj, data: Mapping[str, str]) -> list[FieldError]:
    return [] if data.get("ssh-privatekey") else [required("data[ssh-privatekey]")]


_SECRET_RULES = {
    "kubernetes.io/service-account-token": _needs_account,
    "kubernetes.io/dockercfg": lambda obj, data: _needs_json(".dockercfg", data),
    "kubernetes.io/dockerconfigjson": lambda obj, data: _needs_json(".dockerconfigjson", data),
    "kubernetes.io/basic-auth": _needs_login,
    "kubernetes.io/ssh-auth": _needs_ssh_key,
    "kubernetes.io/tls": _needs_key_pair,
}


def _validate_secret_update(new: Obj, old: Obj) -> list[FieldError]:
    errors = []
    if new.get("type") != old.get("type"):
        errors.append(invalid("type", new.get("type", ""), IMMUTABLE))
    return errors + _validate_sealed(new, old, ("data",))


def _secret_warnings(obj: Obj) -> list[str]:
    if obj.get("type") != "kubernetes.io/tls":
        return []
    data = obj.get("data") or {}
    for key, what in (("tls.crt", "certificate"), ("tls.key", "key")):
        if b"-----BEGIN " not in binascii.a2b_base64(data.get(key, "")):
            return [f"tls: failed to find any PEM data in {what} input"]
    return []


def _secret_cells(obj: Obj, now: str) -> Sequence[Any]:
    return name_of(obj), obj.get("type", ""), len(obj.get("data") or ()), age_of(obj, now)


SECRET = Strategy(
    default=_default_secret,
    validate=_validate_secret,
    validate_update=_validate_secret_update,
    columns=(
        NAME,
        Column(
            "Type",
            description=(
                "Used to facilitate programmatic handling of secret data. More info: "
                "https://kubernetes.io/docs/concepts/configuration/secret/#secret-types"
            ),
        ),
        Column(
            "Data",
            description=(
                "Data contains the secret data. Each key must consist of alphanumeric characters, '-', '_' or '.'. The "
                "serialized form of the secret data is a base64 encoded string, representing the arbitrary (possibly "
                "non-string) data value here. Described in https://tools.ietf.org/html/rfc4648#section-4"
            ),
        ),
        AGE,
    ),
    cells=_secret_cells,
    fields={"type": lambda obj: obj.get("type", "")},
    warnings=_secret_warnings,
)


def _keep_secret_names(obj: Obj) -> None:
    if references := obj.get("secrets"):
        obj["secrets"] = [{"name": one["name"]} if one.get("name") else {} for one in references]


def _keep_secret_names_on_update(new: Obj, old: Obj) -> None:
    _keep_secret_names(new)


_ENFORCE = "kubernetes.io/enforce-mountable-secrets"


def _account_warnings(obj: Obj) -> list[str]:
    if _ENFORCE not in (obj["metadata"].get("annotations") or {}):
        return []
    why = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
    return [f"metadata.annotations[{_ENFORCE}]: {why}"]


def _account_cells(obj: Obj, now: str) -> Sequence[Any]:
    return name_of(obj), age_of(obj, now)


SERVICE_ACCOUNT = Strategy(
    prepare_create=_keep_secret_names,
    prepare_update=_keep_secret_names_on_update,
    columns=(NAME, AGE),
    cells=_account_cells,
    warnings=_account_warnings,
)
