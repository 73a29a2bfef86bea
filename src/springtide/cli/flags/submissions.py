# SPDX-License-Identifier: Apache-2.0
"""From the flags of `submit` to what a user asks for. What cannot be understood is a `Problem` with its flag."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from springtide.cli.flags.tables import FLAGS, SubmitFlag
from springtide.manifests.submissions import parsing
from springtide.manifests.submissions.problems import Problem
from springtide.manifests.submissions.submission import (
    CodeSync,
    Compute,
    ConfigFile,
    Spread,
    Submission,
    TensorBoard,
    TfRole,
)
from springtide.messages import text

S = TypeVar("S", bound=Submission)

_PARTS: Final[Mapping[str, type]] = {
    "code_sync": CodeSync,
    "tensorboard": TensorBoard,
    "compute": Compute,
    "spread": Spread,
    **{f"{role}_role": TfRole for role in ("worker", "ps", "chief", "evaluator")},
}
_NUMBERS: Final = 10**9


def submission(kind: type[S], values: Mapping[str, Any], given: Mapping[str, Any]) -> S:
    """Problem. `given` are fields that no flag sets, or that Arena's config file sets where no flag does."""
    fields = _nested({flag.target: _read(flag, values[flag.name]) for flag in FLAGS[kind]})
    fields["code_sync"] = _code_sync(fields["code_sync"])
    fields["tensorboard"] = _tensorboard(values["tensorboard"], fields["tensorboard"])
    for name, value in given.items():
        fields[name] = fields.get(name) or value
    found = _built(kind, fields)
    assert isinstance(found, kind)
    return found


def _nested(fields: Mapping[str, Any]) -> dict[str, Any]:
    """`compute.cpu` becomes `cpu` of `compute`."""
    found: dict[str, Any] = {}
    for path, value in sorted(fields.items(), key=lambda pair: "." in pair[0]):
        *parts, last = path.split(".")
        inner = found
        for part in parts:
            if not isinstance(inner.get(part), dict):
                inner[part] = {}
            inner = inner[part]
        inner[last] = value
    return found


def _built(kind: type, fields: Mapping[str, Any]) -> object:
    made = {
        name: _built(_PARTS[name], value) if name in _PARTS and isinstance(value, dict) else value
        for name, value in fields.items()
    }
    return kind(**made)


def _read(flag: SubmitFlag, value: Any) -> Any:
    reader = _READERS.get(flag.target.rpartition(".")[2])
    return reader(f"--{flag.name}", value) if reader else value


def _config_files(flag: str, items: Sequence[str]) -> tuple[ConfigFile, ...]:
    return tuple(_config_file(flag, item) for item in dict.fromkeys(items))


def _config_file(flag: str, item: str) -> ConfigFile:
    paths = parsing.config_file_paths(flag, item)
    local = Path(paths.local).expanduser().absolute()
    try:
        content = local.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        cause = text("{file} cannot be read: {why}", file=local, why=why)
        hint = text("name a file of this machine that you may read")
        raise Problem(flag, cause, hint, f"{flag} {item}: {error}") from None
    return parsing.config_file(paths.container or str(local), content)


def _whole(flag: str, value: float) -> int:
    return int(value)


def _code_sync(fields: Mapping[str, str]) -> CodeSync | None:
    return CodeSync(**fields) if fields["mode"] else None


def _tensorboard(wanted: bool, fields: Mapping[str, str]) -> TensorBoard | None:
    """The directory of the host has a name that nothing else uses."""
    if not wanted:
        return None
    return TensorBoard(**fields, host_directory=f"/arena_logs/training{secrets.randbelow(_NUMBERS):09}")


_READERS: Final[Mapping[str, Callable[[str, Any], Any]]] = {
    **dict.fromkeys(
        ("variables", "annotations", "labels", "node_selector", "launcher_selector", "launcher_annotations",
         "worker_annotations"), parsing.pairs,
    ),
    "devices": parsing.devices,
    "claims": parsing.claims,
    "host_directories": parsing.host_directories,
    "tolerations": parsing.tolerations,
    "config_files": _config_files,
    **dict.fromkeys(("running_timeout", "starting_timeout", "ttl_after_finished"), _whole),
}  # fmt: skip
"""By the field that is set."""
