# SPDX-License-Identifier: Apache-2.0
"""A pod's volumes and their sources.

`volumes_mounts.py` has the mounts in containers. Sources that only a cloud or a storage vendor could provide are
accepted after few checks: no node here can mount them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from springtide.api.field_errors import FieldError, duplicate, forbidden, invalid, not_supported, required
from springtide.api.quantity import ZERO
from springtide.local.kinds import names
from springtide.local.kinds.pod.containers_env import VOLUME_FIELDS, validate_field_ref, validate_resource_ref
from springtide.local.kinds.pod.containers_resources import amount
from springtide.local.kinds.strategy import Obj

FILE_MODE = "must be a number between 0 and 0777 (octal), both inclusive"
_HOST_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_MODE = 0o644
_WITH_MODE = ("configMap", "secret", "downwardAPI", "projected")
_ONE_TYPE = "may not specify more than 1 volume type"


def default_volumes(volumes: Sequence[Obj]) -> None:
    for volume in volumes:
        if len(volume) < 2:
            volume["emptyDir"] = {}
        for kind in _WITH_MODE:
            if (source := volume.get(kind)) is not None:
                source.setdefault("defaultMode", _MODE)
        if (host := volume.get("hostPath")) is not None:
            host.setdefault("type", "")
        elif (projected := volume.get("projected")) is not None:
            _default_projection(projected)
        elif (downward := volume.get("downwardAPI")) is not None:
            _default_downward(downward)
        elif (template := (volume.get("ephemeral") or {}).get("volumeClaimTemplate")) is not None:
            template.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")


def _default_projection(projected: Obj) -> None:
    for source in projected.get("sources") or ():
        if (token := source.get("serviceAccountToken")) is not None:
            token.setdefault("expirationSeconds", 3600)
        elif (downward := source.get("downwardAPI")) is not None:
            _default_downward(downward)


def _default_downward(source: Obj) -> None:
    for item in source.get("items") or ():
        if (field := item.get("fieldRef")) is not None and not field.get("apiVersion"):
            field["apiVersion"] = "v1"
        if (resource := item.get("resourceFieldRef")) is not None:
            resource.setdefault("divisor", "0")


def validate_volumes(volumes: Sequence[Obj], path: str, pod_name: str = "") -> tuple[dict[str, Obj], list[FieldError]]:
    """The valid volumes by name, and the errors in the others."""
    known: dict[str, Obj] = {}
    errors: list[FieldError] = []
    for index, volume in enumerate(volumes):
        where = f"{path}[{index}]"
        name = volume.get("name", "")
        found = _validate_volume(volume, where, pod_name)
        if not name:
            found.append(required(f"{where}.name"))
        elif complaints := names.dns_label(name):
            found += [invalid(f"{where}.name", name, why) for why in complaints]
        if name in known:
            found.append(duplicate(f"{where}.name", name))
        if found:
            errors += found
        else:
            known[name] = volume
    return known, errors


def _validate_volume(volume: Obj, path: str, pod_name: str) -> list[FieldError]:
    kinds = [kind for kind in volume if kind != "name" and volume[kind] is not None]
    if not kinds:
        return [required(path, "must specify a volume type")]
    errors = validate_source(kinds[0], volume[kinds[0]], f"{path}.{kinds[0]}")
    errors += [forbidden(f"{path}.{kind}", _ONE_TYPE) for kind in kinds[1:]]
    if "ephemeral" in kinds and pod_name and volume.get("name"):
        claim = f"{pod_name}-{volume['name']}"
        errors += [
            invalid(f"{path}.name", volume["name"], f'PVC name "{claim}": {why}') for why in names.dns_subdomain(claim)
        ]
    return errors


def validate_source(kind: str, source: Obj, path: str) -> list[FieldError]:
    """Validate one source of a volume or PersistentVolume."""
    rule = _SOURCES.get(kind)
    return rule(source, path) if rule else []


def _needs(*fields: str) -> Callable[[Obj, str], list[FieldError]]:
    def validate(source: Obj, path: str) -> list[FieldError]:
        return [required(f"{path}.{field}") for field in fields if not source.get(field)]

    return validate


def _validate_empty_dir(source: Obj, path: str) -> list[FieldError]:
    limit = source.get("sizeLimit")
    if limit is not None and amount(limit) < ZERO:
        return [forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")]
    return []


def _validate_host_path(source: Obj, path: str) -> list[FieldError]:
    target = source.get("path", "")
    if not target:
        return [required(f"{path}.path")]
    errors = validate_no_backsteps(target, f"{path}.path")
    kind = source.get("type", "")
    if kind not in _HOST_TYPES:
        errors.append(not_supported(f"{path}.type", kind, _HOST_TYPES))
    return errors


def _validate_secret(source: Obj, path: str) -> list[FieldError]:
    errors = [] if source.get("secretName") else [required(f"{path}.secretName")]
    return errors + _validate_mode(source, "defaultMode", path) + _validate_items(source, path)


def _validate_config_map(source: Obj, path: str) -> list[FieldError]:
    errors = [] if source.get("name") else [required(f"{path}.name")]
    return errors + _validate_mode(source, "defaultMode", path) + _validate_items(source, path)


def _validate_items(source: Obj, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, item in enumerate(source.get("items") or ()):
        errors += _validate_item(item, f"{path}.items[{index}]")
    return errors


def _validate_item(item: Obj, path: str) -> list[FieldError]:
    errors = [required(f"{path}.{field}") for field in ("key", "path") if not item.get(field)]
    errors += validate_file_path(item.get("path", ""), f"{path}.path")
    return errors + _validate_mode(item, "mode", path)


def _validate_mode(source: Obj, field: str, path: str) -> list[FieldError]:
    mode = source.get(field)
    if mode is None or 0 <= mode <= 0o777:
        return []
    return [invalid(f"{path}.{field}", mode, FILE_MODE)]


def _validate_nfs(source: Obj, path: str) -> list[FieldError]:
    errors = _needs("server", "path")(source, path)
    if not source.get("path", "").startswith("/"):
        errors.append(invalid(f"{path}.path", source.get("path", ""), "must be an absolute path"))
    return errors


def _validate_downward(source: Obj, path: str) -> list[FieldError]:
    errors = _validate_mode(source, "defaultMode", path)
    for item in source.get("items") or ():
        errors += _validate_downward_file(item, path)
    return errors


def _validate_downward_file(item: Obj, path: str) -> list[FieldError]:
    errors = [] if item.get("path") else [required(f"{path}.path")]
    errors += validate_file_path(item.get("path", ""), f"{path}.path")
    field, resource = item.get("fieldRef"), item.get("resourceFieldRef")
    if field is not None:
        errors += validate_field_ref(field, VOLUME_FIELDS, f"{path}.fieldRef")
        if resource is not None:
            why = "fieldRef and resourceFieldRef can not be specified simultaneously"
            errors.append(invalid(path, "resource", why))
    elif resource is not None:
        errors += validate_resource_ref(resource, f"{path}.resourceFieldRef", in_volume=True)
    else:
        errors.append(required(path, "one of fieldRef and resourceFieldRef is required"))
    return errors + _validate_mode(item, "mode", path)


def _validate_projected(source: Obj, path: str) -> list[FieldError]:
    errors = _validate_mode(source, "defaultMode", path)
    taken: set[str] = set()
    for index, projection in enumerate(source.get("sources") or ()):
        where = f"{path}.sources[{index}]"
        kinds = [kind for kind in projection if projection[kind] is not None]
        for kind in kinds:
            errors += _validate_projection(kind, projection[kind], where, path)
            errors += _claim_paths(kind, projection[kind], taken, path)
        if len(kinds) > 1:
            errors.append(forbidden(where, "may not specify more than 1 volume type per source"))
    return errors


def _validate_projection(kind: str, source: Obj, path: str, root: str) -> list[FieldError]:
    where = f"{path}.{kind}"
    if kind in ("secret", "configMap"):
        errors = [] if source.get("name") else [required(f"{where}.name")]
        return errors + _validate_items(source, where)
    if kind == "downwardAPI":
        return [error for item in source.get("items") or () for error in _validate_downward_file(item, where)]
    return _validate_token(source, where, root) if kind == "serviceAccountToken" else []


def _validate_token(source: Obj, path: str, root: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seconds = source.get("expirationSeconds", 3600)
    if seconds < 600:
        why = "may not specify a duration less than 10 minutes"
        errors.append(invalid(f"{path}.expirationSeconds", seconds, why))
    elif seconds > 1 << 32:
        why = "may not specify a duration larger than 2^32 seconds"
        errors.append(invalid(f"{path}.expirationSeconds", seconds, why))
    if not source.get("path"):
        return [*errors, required(f"{root}.path")]
    return errors + validate_file_path(source["path"], f"{root}.path")


def _claim_paths(kind: str, source: Obj, taken: set[str], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for item in source.get("items") or ():
        if not (file := item.get("path")):
            continue
        if file in taken:
            shown = file if kind == "downwardAPI" else source.get("name", "")
            errors.append(invalid(path, shown, "conflicting duplicate paths"))
        taken.add(file)
    return errors


def _validate_ephemeral(source: Obj, path: str) -> list[FieldError]:
    return [] if source.get("volumeClaimTemplate") is not None else [required(f"{path}.volumeClaimTemplate")]


def _validate_csi(source: Obj, path: str) -> list[FieldError]:
    driver = source.get("driver", "")
    if not driver:
        return [required(f"{path}.driver")]
    return [invalid(f"{path}.driver", driver, why) for why in names.dns_subdomain(driver.lower())]


_SOURCES: Mapping[str, Callable[[Obj, str], list[FieldError]]] = {
    "emptyDir": _validate_empty_dir,
    "hostPath": _validate_host_path,
    "secret": _validate_secret,
    "configMap": _validate_config_map,
    "nfs": _validate_nfs,
    "persistentVolumeClaim": _needs("claimName"),
    "downwardAPI": _validate_downward,
    "projected": _validate_projected,
    "ephemeral": _validate_ephemeral,
    "csi": _validate_csi,
    "gitRepo": _needs("repository"),
    "iscsi": _needs("targetPortal", "iqn"),
    "glusterfs": _needs("endpoints", "path"),
    "rbd": _needs("monitors", "image"),
    "cinder": _needs("volumeID"),
    "cephfs": _needs("monitors"),
    "flexVolume": _needs("driver"),
    "azureFile": _needs("secretName", "shareName"),
    "vsphereVolume": _needs("volumePath"),
    "portworxVolume": _needs("volumeID"),
    "gcePersistentDisk": _needs("pdName"),
    "awsElasticBlockStore": _needs("volumeID"),
}


def validate_no_backsteps(path: str, field: str) -> list[FieldError]:
    return [invalid(field, path, "must not contain '..'")] if ".." in path and ".." in path.split("/") else []


def validate_relative_path(path: str, field: str) -> list[FieldError]:
    errors = [invalid(field, path, "must be a relative path")] if path.startswith("/") else []
    return errors + validate_no_backsteps(path, field)


def validate_file_path(path: str, field: str) -> list[FieldError]:
    """A file inside a volume; names that start with two dots are reserved for the kubelet."""
    errors = validate_relative_path(path, field)
    if path.startswith("..") and not path.startswith("../"):
        errors.append(invalid(field, path, "must not start with '..'"))
    return errors
