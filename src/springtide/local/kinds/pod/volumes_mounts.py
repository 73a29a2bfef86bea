# SPDX-License-Identifier: Apache-2.0
"""A container's volume mounts and block devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from springtide.api.field_errors import FieldError, forbidden, invalid, not_found, not_supported, required
from springtide.local.kinds.pod.volumes import validate_no_backsteps, validate_relative_path
from springtide.local.kinds.strategy import Obj

_PROPAGATION = ("Bidirectional", "HostToContainer", "None")


def validate_mounts(container: Obj, volumes: Mapping[str, Obj], path: str) -> list[FieldError]:
    mounts: Sequence[Obj] = container.get("volumeMounts") or ()
    devices: Sequence[Obj] = container.get("volumeDevices") or ()
    errors: list[FieldError] = []
    taken: set[str] = set()
    for index, mount in enumerate(mounts):
        name, target = mount.get("name", ""), mount.get("mountPath", "")
        if name not in volumes or not target or target in taken or len(mount) > 2 or devices:
            where = f"{path}.volumeMounts"
            errors += _validate_target(mount, volumes, taken, f"{where}[{index}]")
            errors += _validate_overlap(mount, devices, f"{where}[{index}]")
            errors += _validate_mount_options(mount, container, where, index)
        taken.add(target)
    return errors + (_validate_devices(devices, mounts, volumes, f"{path}.volumeDevices") if devices else [])


def _validate_target(mount: Obj, volumes: Mapping[str, Obj], taken: set[str], path: str) -> list[FieldError]:
    name, target = mount.get("name", ""), mount.get("mountPath", "")
    errors = [] if name else [required(f"{path}.name")]
    if name not in volumes:
        errors.append(not_found(f"{path}.name", name))
    if not target:
        errors.append(required(f"{path}.mountPath"))
    if target in taken:
        errors.append(invalid(f"{path}.mountPath", target, "must be unique"))
    return errors


def _validate_overlap(mount: Obj, devices: Sequence[Obj], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    name, target = mount.get("name", ""), mount.get("mountPath", "")
    if any(device.get("name", "") == name for device in devices):
        errors.append(invalid(f"{path}.name", name, "must not already exist in volumeDevices"))
    if any(device.get("devicePath", "") == target for device in devices):
        errors.append(invalid(f"{path}.mountPath", target, "must not already exist as a path in volumeDevices"))
    return errors


def _validate_mount_options(mount: Obj, container: Obj, path: str, index: int) -> list[FieldError]:
    """kube-apiserver omits the index in most of these paths."""
    errors: list[FieldError] = []
    inside, expression = mount.get("subPath", ""), mount.get("subPathExpr", "")
    if inside:
        errors += validate_relative_path(inside, f"{path}.subPath")
    if expression:
        if inside:
            why = "subPathExpr and subPath are mutually exclusive"
            errors.append(invalid(f"{path}[{index}].subPathExpr", expression, why))
        errors += validate_relative_path(expression, f"{path}.subPathExpr")
    if (propagation := mount.get("mountPropagation")) is not None:
        errors += _validate_propagation(propagation, container, f"{path}.mountPropagation")
    if (recursive := mount.get("recursiveReadOnly")) is not None:
        errors += _validate_recursive(recursive, mount, f"{path}.recursiveReadOnly")
    return errors


def _validate_propagation(propagation: str, container: Obj, path: str) -> list[FieldError]:
    if propagation not in _PROPAGATION:
        return [not_supported(path, propagation, _PROPAGATION)]
    privileged = (container.get("securityContext") or {}).get("privileged")
    if propagation == "Bidirectional" and not privileged:
        why = "Bidirectional mount propagation is available only to privileged containers"
        return [forbidden(path, why)]
    return []


def _validate_recursive(recursive: str, mount: Obj, path: str) -> list[FieldError]:
    if recursive == "Disabled":
        return []
    if recursive not in ("Enabled", "IfPossible"):
        return [not_supported(path, recursive, ("Disabled", "Enabled", "IfPossible"))]
    errors: list[FieldError] = []
    if not mount.get("readOnly"):
        errors.append(forbidden(path, "may only be specified when readOnly is true"))
    if mount.get("mountPropagation", "None") != "None":
        errors.append(forbidden(path, "may only be specified when mountPropagation is None or not specified"))
    return errors


def _validate_devices(
    devices: Sequence[Obj], mounts: Sequence[Obj], volumes: Mapping[str, Obj], path: str
) -> list[FieldError]:
    errors: list[FieldError] = []
    seen_names: set[str] = set()
    seen_paths: set[str] = set()
    for index, device in enumerate(devices):
        where, name, target = f"{path}[{index}]", device.get("name", ""), device.get("devicePath", "")
        errors += _validate_device_name(name, seen_names, volumes, where)
        if not target:
            errors.append(required(f"{where}.devicePath"))
        if target in seen_paths:
            errors.append(invalid(f"{where}.devicePath", target, "must be unique"))
        if validate_no_backsteps(target, ""):
            errors.append(invalid(f"{where}.devicePath", target, "can not contain backsteps ('..')"))
        else:
            seen_paths.add(target)
        if any(mount.get("name", "") == name for mount in mounts):
            errors.append(invalid(f"{where}.name", name, "must not already exist in volumeMounts"))
        if any(mount.get("mountPath", "") == target for mount in mounts):
            errors.append(invalid(f"{where}.devicePath", target, "must not already exist as a path in volumeMounts"))
    return errors


def _validate_device_name(name: str, seen: set[str], volumes: Mapping[str, Obj], path: str) -> list[FieldError]:
    errors = [] if name else [required(f"{path}.name")]
    if name in seen:
        errors.append(invalid(f"{path}.name", name, "must be unique"))
    volume = volumes.get(name)
    if volume is None:
        errors.append(not_found(f"{path}.name", name))
    elif volume.get("persistentVolumeClaim") is None and volume.get("ephemeral") is None:
        why = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
        errors.append(invalid(f"{path}.name", name, why))
    if name:
        seen.add(name)
    return errors
