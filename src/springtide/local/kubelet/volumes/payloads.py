# SPDX-License-Identifier: Apache-2.0
"""configMap, secret, downwardAPI and projected volumes as files: paths, contents and modes. Pure.

What is missing is an error with kubelet's wording. Tokens are not requested here: the caller passes them in.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from springtide.local.kubelet.specs import fields
from springtide.local.kubelet.volumes.atomic import File

DEFAULT_MODE = 0o644
PRIVATE_MODE = 0o600
OWNER_ONLY = 0o700
Source = Mapping[str, Any]
Find = Callable[[str], Mapping[str, str | bytes] | None]


class PayloadError(ValueError):
    """A volume whose contents are not available yet."""


@dataclass(frozen=True, slots=True)
class Contents:
    """The sources of the files of one pod's volumes."""

    pod: Mapping[str, Any]
    config_map: Find
    secret: Find
    token: Callable[[Source], str]
    allocatable: Mapping[str, str]
    owner: int | None = None
    """The uid that owns tokens when all containers run as the same user."""
    shared: bool = False
    """Whether an fsGroup will be given the right to read files that are private otherwise."""
    holds_keys: Callable[[Source, str], bool] = lambda source, name: False
    """Whether files of a secret are keys for ssh, which rejects keys that other users than their owner may read."""
    reader: int | None = None
    """The uid that owns keys when all containers that see the volume run as the same user."""


def of_volume(volume: Source, contents: Contents) -> dict[str, File]:
    if source := volume.get("configMap"):
        return _config_map(source, _mode(source), contents)
    if source := volume.get("secret"):
        return _secret(source, source.get("secretName") or "", _mode(source), contents)
    if source := volume.get("downwardAPI"):
        return _downward(source, _mode(source), contents)
    return _projected(volume.get("projected") or {}, contents)


def _mode(source: Source) -> int:
    mode = source.get("defaultMode")
    return DEFAULT_MODE if mode is None else int(mode)


def _config_map(source: Source, mode: int, contents: Contents) -> dict[str, File]:
    name = source.get("name") or ""
    data = contents.config_map(name)
    if data is None and not source.get("optional"):
        raise PayloadError(f'configmap "{name}" not found')
    return _files(source, data or {}, mode, "configmap references non-existent config key: ")


def _secret(source: Source, name: str, mode: int, contents: Contents) -> dict[str, File]:
    data = contents.secret(name)
    if data is None and not source.get("optional"):
        raise PayloadError(f'secret "{name}" not found')
    files = _files(source, data or {}, mode, "references non-existent secret key: ")
    if contents.reader is None or contents.shared or not contents.holds_keys(source, name):
        return files
    return {path: File(file.data, file.mode & OWNER_ONLY, contents.reader) for path, file in files.items()}


def _files(source: Source, data: Mapping[str, str | bytes], mode: int, complaint: str) -> dict[str, File]:
    items = source.get("items")
    if not items:
        return {key: File(_bytes(value), mode) for key, value in data.items()}
    files = {}
    for item in items:
        if item["key"] in data:
            files[item["path"]] = File(_bytes(data[item["key"]]), _item_mode(item, mode))
        elif not source.get("optional"):
            raise PayloadError(f"{complaint}{item['key']}")
    return files


def _item_mode(item: Source, mode: int) -> int:
    own = item.get("mode")
    return mode if own is None else int(own)


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


def _downward(source: Source, mode: int, contents: Contents) -> dict[str, File]:
    files, complaints = {}, []
    for item in source.get("items") or ():
        try:
            text = _downward_text(item, contents)
        except fields.FieldError as error:
            complaints.append(str(error))
            continue
        files[os.path.normpath(item["path"])] = File(text.encode(), _item_mode(item, mode))
    _complain(complaints)
    return files


def _downward_text(item: Source, contents: Contents) -> str:
    if reference := item.get("fieldRef"):
        return fields.field(contents.pod, reference["fieldPath"])
    reference = item.get("resourceFieldRef") or {}
    container = fields.container_named(contents.pod, reference.get("containerName") or "")
    return fields.amount(container, reference, contents.allocatable)


def _projected(volume: Source, contents: Contents) -> dict[str, File]:
    files: dict[str, File] = {}
    complaints = []
    for source in volume.get("sources") or ():
        try:
            files |= _part(source, _mode(volume), contents)
        except PayloadError as error:
            complaints.append(str(error))
    _complain(complaints)
    return files


def _part(source: Source, mode: int, contents: Contents) -> dict[str, File]:
    if part := source.get("secret"):
        return _secret(part, part.get("name") or "", mode, contents)
    if part := source.get("configMap"):
        return _config_map(part, mode, contents)
    if part := source.get("downwardAPI"):
        return _downward(part, mode, contents)
    if part := source.get("serviceAccountToken"):
        private = contents.shared or contents.owner is not None
        return {part["path"]: File(contents.token(part).encode(), PRIVATE_MODE if private else mode, contents.owner)}
    kinds = ", ".join(sorted(source)) or "an empty source"
    raise PayloadError(f"projected volumes of {kinds} are not known to this node")


def _complain(complaints: Iterable[str]) -> None:
    """Raise all distinct complaints as one error, joined as Go joins errors."""
    different = list(dict.fromkeys(complaints))
    if len(different) == 1:
        raise PayloadError(different[0])
    if different:
        raise PayloadError(f"[{', '.join(different)}]")


def token_sources(volume: Source) -> list[Source]:
    """The serviceAccountToken sources of a volume."""
    sources = (volume.get("projected") or {}).get("sources") or ()
    return [source["serviceAccountToken"] for source in sources if source.get("serviceAccountToken")]
