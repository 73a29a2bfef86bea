# SPDX-License-Identifier: Apache-2.0
"""Security contexts of pods and containers. Windows options are not checked: no node here runs Windows."""

from __future__ import annotations

import re

from springtide.api.field_errors import FieldError, duplicate, forbidden, invalid, not_supported, required
from springtide.local.kinds import names
from springtide.local.kinds.pod.volumes import validate_relative_path
from springtide.local.kinds.strategy import Obj

_PROFILE = ("type", "localhostProfile")
_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL_RE = re.compile(rf"({_SEGMENT}[\./])*{_SEGMENT}")


def validate_pod_security(context: Obj, spec: Obj, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for field in ("fsGroup", "runAsUser", "runAsGroup"):
        if (number := context.get(field)) is not None:
            errors += [invalid(f"{path}.{field}", number, why) for why in names.user_id(number)]
    for index, group in enumerate(context.get("supplementalGroups") or ()):
        errors += [invalid(f"{path}.supplementalGroups[{index}]", group, why) for why in names.user_id(group)]
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        why = "ShareProcessNamespace and HostPID cannot both be enabled"
        errors.append(invalid(f"{path}.shareProcessNamespace", True, why))
    if sysctls := context.get("sysctls"):
        errors += _validate_sysctls(sysctls, spec, f"{path}.sysctls")
    errors += _validate_choice(context, "fsGroupChangePolicy", ("Always", "OnRootMismatch"), path)
    errors += _validate_profiles(context, path)
    errors += _validate_choice(context, "supplementalGroupsPolicy", ("Merge", "Strict"), path)
    return errors + _validate_choice(context, "seLinuxChangePolicy", ("MountOption", "Recursive"), path)


def _validate_choice(context: Obj, field: str, allowed: tuple[str, ...], path: str) -> list[FieldError]:
    value = context.get(field)
    return [] if value is None or value in allowed else [not_supported(f"{path}.{field}", value, allowed)]


def _validate_sysctls(sysctls: list[Obj], spec: Obj, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, sysctl in enumerate(sysctls):
        name, where = sysctl.get("name", ""), f"{path}[{index}].name"
        if not name:
            errors.append(required(where))
        elif len(name) > 253 or not _SYSCTL_RE.fullmatch(name):
            why = f"must have at most 253 characters and match regex ^{_SYSCTL_RE.pattern}$"
            errors.append(invalid(where, name, why))
        elif name in seen:
            errors.append(duplicate(where, name))
        if spec.get("hostNetwork") and name.startswith("net."):
            errors.append(invalid(where, name, "may not be specified when 'hostNetwork' is true"))
        elif spec.get("hostIPC") and name.startswith(("kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue.")):
            errors.append(invalid(where, name, "may not be specified when 'hostIPC' is true"))
        seen.add(name)
    return errors


def validate_container_security(context: Obj, path: str, host_users: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    for field in ("runAsUser", "runAsGroup"):
        if (number := context.get(field)) is not None:
            errors += [invalid(f"{path}.{field}", number, why) for why in names.user_id(number)]
    if (proc := context.get("procMount")) is not None:
        errors += _validate_proc_mount(proc, f"{path}.procMount", host_users)
    errors += _validate_profiles(context, path)
    if context.get("allowPrivilegeEscalation") is False:
        if context.get("privileged"):
            why = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            errors.append(invalid(path, _context_in_go(context), why))
        if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ()):
            why = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            errors.append(invalid(path, _context_in_go(context), why))
    return errors


_CONTEXT = (
    "capabilities",
    "privileged",
    "seLinuxOptions",
    "windowsOptions",
    "runAsUser",
    "runAsGroup",
    "runAsNonRoot",
    "readOnlyRootFilesystem",
    "allowPrivilegeEscalation",
    "procMount",
    "seccompProfile",
    "appArmorProfile",
)


def _context_in_go(context: Obj) -> Obj:
    shown = in_go(context, _CONTEXT)
    inner = (("capabilities", ("add", "drop")), ("seccompProfile", _PROFILE), ("appArmorProfile", _PROFILE))
    for field, fields in inner:
        if context.get(field) is not None:
            shown[_capitalised(field)] = in_go(context[field], fields)
    return {{"SeLinuxOptions": "SELinuxOptions"}.get(key, key): value for key, value in shown.items()}


def in_go(obj: Obj, fields: tuple[str, ...]) -> Obj:
    """The fields of an internal struct under their Go names, as kube-apiserver shows them."""
    return {_capitalised(field): obj.get(field) for field in fields}


def _capitalised(field: str) -> str:
    return field[0].upper() + field[1:]


def _validate_proc_mount(proc: str, path: str, host_users: bool) -> list[FieldError]:
    if proc not in ("Default", "Unmasked"):
        return [not_supported(path, proc, ("Default", "Unmasked"))]
    if host_users and proc == "Unmasked":
        return [invalid(path, proc, "`hostUsers` must be false to use `Unmasked`")]
    return []


def _validate_profiles(context: Obj, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if (seccomp := context.get("seccompProfile")) is not None:
        errors += _validate_seccomp(seccomp, f"{path}.seccompProfile")
    if (armor := context.get("appArmorProfile")) is not None:
        errors += _validate_app_armor(armor, f"{path}.appArmorProfile")
    return errors


def _validate_seccomp(profile: Obj, path: str) -> list[FieldError]:
    kind, file = profile.get("type", ""), profile.get("localhostProfile")
    errors: list[FieldError] = []
    if not kind:
        errors.append(required(f"{path}.type", "type is required when seccompProfile is set"))
    elif kind not in _PROFILES:
        errors.append(not_supported(f"{path}.type", kind, _PROFILES))
    where = f"{path}.localhostProfile"
    if kind != "Localhost":
        if file is not None:
            errors.append(invalid(where, in_go(profile, _PROFILE), "can only be set when seccomp type is Localhost"))
    elif file is None:
        errors.append(required(where, "must be set when seccomp type is Localhost"))
    else:
        errors += validate_relative_path(file, where)
    return errors


def _validate_app_armor(profile: Obj, path: str) -> list[FieldError]:
    kind, name, where = profile.get("type", ""), profile.get("localhostProfile"), f"{path}.localhostProfile"
    if not kind:
        return [required(f"{path}.type", "type is required when appArmorProfile is set")]
    if kind not in _PROFILES:
        return [not_supported(f"{path}.type", kind, _PROFILES)]
    if kind != "Localhost":
        return [] if name is None else [invalid(where, name, "can only be set when AppArmor type is Localhost")]
    if name is None or not name.strip():
        return [required(where, "must be set when AppArmor type is Localhost")]
    return [] if name == name.strip() else [invalid(where, name, "must not be padded with whitespace")]


def validate_host_users(spec: Obj, path: str) -> list[FieldError]:
    """A pod with its own user namespace cannot share the host's other namespaces."""
    if spec.get("hostUsers") is not False:
        return []
    fields = (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC"))
    return [forbidden(f"{path}.{shown}", "when `hostUsers` is false") for field, shown in fields if spec.get(field)]
