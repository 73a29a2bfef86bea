# SPDX-License-Identifier: Apache-2.0
"""The text of flags as parts of a submission. What cannot be read is a `Problem`, never dropped."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from springtide.api import quantity
from springtide.manifests.parts.resources import GPU
from springtide.manifests.submissions.problems import Problem, malformed, unknown
from springtide.manifests.submissions.submission import Claim, ConfigFile, HostDirectory, Toleration
from springtide.messages import text

TOLERATE_ALL: Final = "all"
_CLAIM: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]+")
_TOLERATION: Final = re.compile(r"([^=]*)=([^:]*):([^,]*),(.*)", re.DOTALL)
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_OPERATORS: Final = ("Equal", "Exists")
_PART: Final = r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)"
_QUALIFIED: Final = re.compile(rf"(?:([a-z0-9]([-a-z0-9.]*[a-z0-9])?)/)?{_PART}")
_LONGEST_NAME: Final = 63
_DURATION: Final = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_SECONDS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}


def pairs(flag: str, items: Iterable[str]) -> dict[str, str]:
    """`KEY=VALUE` each; the value is all that follows the first `=`. The last of equal keys counts."""
    found = {}
    for item in items:
        key, equals, value = item.partition("=")
        if not equals or not key:
            raise malformed(flag, item, "KEY=VALUE", f"{flag} NAME=value")
        found[key] = value
    return found


def claims(flag: str, items: Iterable[str]) -> tuple[Claim, ...]:
    found: dict[str, Claim] = {}
    for item in items:
        name, path = _split_claim(flag, item)
        if name in found:
            arena = f"your PVC name: {name} is repeated, please check it"
            cause = text("the claim {name} is mounted twice", name=name)
            raise Problem(flag, cause, text("mount it once, at a directory above both paths"), arena)
        found[name] = Claim(name=name, path=path)
    return tuple(found.values())


def _split_claim(flag: str, item: str) -> tuple[str, str]:
    name, _, path = item.partition(":")
    if item.count(":") != 1:
        arena = f"dataset {item} has incorrect format, should like data_name:/data0"
        raise malformed(flag, item, "CLAIM:/PATH", f"{flag} data:/data", arena)
    if _CLAIM.fullmatch(name) is None:
        cause = text("{value} is no name of a claim", value=repr(name))
        raise Problem(flag, cause, text("see the claims: {command}", command="kubectl get pvc"))
    return name, _mount_path(flag, path)


def host_directories(flag: str, items: Iterable[str]) -> tuple[HostDirectory, ...]:
    """`HOST[:CONTAINER]`; without the second path they are the same."""
    return tuple(_host_directory(flag, item) for item in items)


def _host_directory(flag: str, item: str) -> HostDirectory:
    host, colon, path = item.partition(":")
    if ":" in path or not host:
        raise malformed(flag, item, "HOST[:CONTAINER]", f"{flag} /mnt/data:/data", f"invalid DataDir: '{item}'")
    return HostDirectory(host=_mount_path(flag, host), path=_mount_path(flag, path if colon else host))


def _mount_path(flag: str, path: str) -> str:
    if not path.startswith("/"):
        cause, arena = (
            text("the path {value} is not absolute", value=repr(path)),
            f"invalid dataDir: '{path}' must be absolute",
        )
    elif posixpath.normpath(path).strip("/") == "":
        cause, arena = text("the path / is the container itself"), "invalid specification: dataDir can't be '/'"
    else:
        return path
    raise Problem(flag, cause, text("write it as {example}", example="/data"), arena)


def tolerations(flag: str, items: Iterable[str]) -> tuple[Toleration, ...]:
    """`KEY=VALUE:EFFECT,OPERATOR`, or `all`."""
    return tuple(_toleration(flag, item) for item in items)


def _toleration(flag: str, item: str) -> Toleration:
    if item == TOLERATE_ALL:
        return Toleration(operator="Exists")
    found = _TOLERATION.fullmatch(item)
    if found is None:
        example = f"{flag} gpu=yes:NoSchedule,Equal, or {flag} {TOLERATE_ALL}"
        raise malformed(flag, item, "KEY=VALUE:EFFECT,OPERATOR", example)
    key, value, effect, operator = found.groups()
    if effect and effect not in _EFFECTS:
        raise unknown(flag, effect, _EFFECTS)
    if operator not in _OPERATORS:
        raise unknown(flag, operator, _OPERATORS)
    if operator == "Exists" and value:
        cause = text("with the operator Exists a toleration has no value")
        hint = text("write it as {example}", example=f"{flag} {key}=:{effect},Exists")
        raise Problem(flag, cause, hint)
    return Toleration(key=key, value=value, effect=effect, operator=operator)


def devices(flag: str, items: Iterable[str]) -> dict[str, str]:
    """`RESOURCE=QUANTITY` each."""
    found = {}
    for item in items:
        name, _, amount = item.partition("=")
        if not name or not amount:
            arena = f"invalid device '{item}', refer to amd.com/gpu=1"
            raise malformed(flag, item, "RESOURCE=QUANTITY", f"{flag} amd.com/gpu=1", arena)
        if not is_qualified(name):
            arena = f"device name '{name}' is not a qualified name"
            cause = text("{value} is no name of a resource", value=repr(name))
            raise Problem(flag, cause, text("write it as {example}", example=f"{flag} amd.com/gpu=1"), arena)
        if name.lower() == GPU:
            arena = f"please use '--gpus {amount}' instead of '--device {GPU}={amount}'"
            cause = text("{resource} has a flag of its own", resource=GPU)
            raise Problem(flag, cause, text("write it as {example}", example=f"--gpus {amount}"), arena)
        if not is_quantity(amount):
            arena = f"device value '{item}' is not a valid quantity, refer to amd.com/gpu=1"
            raise malformed(flag, amount, "QUANTITY", f"{flag} {name}=1", arena)
        found[name] = amount
    return found


def duration(flag: str, written: str) -> int:
    """Whole seconds of a duration in Go's notation, `1h30m`; parts of a second are cut off."""
    parts = _DURATION.findall(written.lstrip("+"))
    if written in ("0", "+0"):
        return 0
    if not parts or "".join(number + unit for number, unit in parts) != written.lstrip("+"):
        raise malformed(flag, written, "1h30m", f"{flag} 30m")
    return int(sum(float(number) * _SECONDS[unit] for number, unit in parts))


class ConfigFilePaths(NamedTuple):
    local: str
    container: str
    """Empty: the absolute local path."""


def config_file_paths(flag: str, item: str) -> ConfigFilePaths:
    """`LOCAL[:CONTAINER]`."""
    local, _, container = item.partition(":")
    if not local or ":" in container:
        raise malformed(flag, item, "LOCAL[:CONTAINER]", f"{flag} train.conf:/etc/train/train.conf")
    if container and not container.startswith("/"):
        cause = text("the path {value} is not absolute", value=repr(container))
        hint = text("write it as {example}", example=f"{flag} {local}:/etc/{container}")
        raise Problem(flag, cause, hint, "the path of file in container must be absolute path")
    return ConfigFilePaths(local, container)


def config_file(container: str, content: str) -> ConfigFile:
    """The file at an absolute path in the container."""
    directory, name = posixpath.split(posixpath.normpath(container))
    return ConfigFile(directory=directory, name=name, content=content)


def is_qualified(name: str) -> bool:
    """Whether it names a resource, a label or an annotation: `NAME` or `DOMAIN/NAME`."""
    found = _QUALIFIED.fullmatch(name)
    return found is not None and len(found[3]) <= _LONGEST_NAME


def is_quantity(amount: str) -> bool:
    try:
        quantity.parse(amount)
    except quantity.QuantityError:
        return False
    return True
