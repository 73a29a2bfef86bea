# SPDX-License-Identifier: Apache-2.0
"""Manifests in files of YAML or JSON, each with several documents."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from springtide.cli.errors import ExitCode, Failure
from springtide.kube.resources import Obj
from springtide.manifests import documents
from springtide.messages import text

_LARGEST: Final = 64 << 20
"""Bytes of a file."""


def read(files: Iterable[str]) -> list[Obj]:
    """The objects in these files; `-` is stdin. Failure for what is no manifest."""
    found = [obj for file in files for obj in _objects(file)]
    if not found:
        raise Failure(text("There is no object in {files}.", files=", ".join(files)), code=ExitCode.USAGE)
    return found


def in_namespace(obj: Obj, namespace: str, *, chosen: bool) -> Obj:
    """The object in its own namespace, or else in this one. Failure if the user has chosen another than its own."""
    metadata = obj["metadata"]
    own = metadata.get("namespace")
    if own and chosen and own != namespace:
        raise Failure(
            text("{name} is of namespace {own}, not {chosen}.", name=metadata["name"], own=own, chosen=namespace),
            hint=text("leave out {option}", option=f"-n {namespace}"),
            code=ExitCode.USAGE,
        )
    return {**obj, "metadata": {**metadata, "namespace": own or namespace}}


def _objects(file: str) -> Iterator[Obj]:
    for document in _documents(file):
        if document is None:
            continue
        items = document.get("items") if isinstance(document, dict) and document.get("kind") == "List" else [document]
        for obj in items or ():
            yield _checked(obj, file)


def _documents(file: str) -> list[Any]:
    try:
        content = _content(file)
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise Failure(text("{file} cannot be read.", file=file), text("{why}", why=why), code=ExitCode.USAGE) from None
    try:
        return documents.read(content)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        why = " ".join(str(error).split())
        raise Failure(
            text("{file} is neither YAML nor JSON.", file=file), text("{why}", why=why), code=ExitCode.USAGE
        ) from None


def _content(file: str) -> str:
    """At most `_LARGEST` bytes and one, so that a file without an end is none of ours."""
    if file == "-":
        read = sys.stdin.buffer.read(_LARGEST + 1)
    else:
        with Path(file).open("rb") as opened:
            read = opened.read(_LARGEST + 1)
    if len(read) > _LARGEST:
        raise OSError(errno.EFBIG, f"it has more than {_LARGEST >> 20} MiB")
    return read.decode()


def _checked(obj: Any, file: str) -> Obj:
    if not isinstance(obj, dict):
        raise Failure(text("A document in {file} is no object.", file=file), code=ExitCode.USAGE)
    metadata = obj.get("metadata")
    named = isinstance(metadata, dict) and isinstance(metadata.get("name"), str) and metadata["name"]
    missing = [name for name in ("apiVersion", "kind") if not isinstance(obj.get(name), str)]
    missing += [] if named else ["metadata.name"]
    if missing:
        raise Failure(
            text("An object in {file} lacks {fields}.", file=file, fields=", ".join(missing)),
            hint=text("see an example: {command}", command="tide example mpijob"),
            code=ExitCode.USAGE,
        )
    return obj
