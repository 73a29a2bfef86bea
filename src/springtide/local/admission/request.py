# SPDX-License-Identifier: Apache-2.0
"""Admission requests, the reader of other objects, and rejections."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from springtide.local import status
from springtide.local.access.identity import User

Obj = dict[str, Any]

CREATE: Final = "CREATE"
UPDATE: Final = "UPDATE"
DELETE: Final = "DELETE"
CONNECT: Final = "CONNECT"

_SUFFIX_LENGTH: Final = 5  # of a generated name


class Reader(Protocol):
    """Reads other objects by storage name: `pods`, or `priorityclasses.scheduling.k8s.io`."""

    def get(self, resource: str, namespace: str, name: str) -> Obj | None: ...

    def list(self, resource: str, namespace: str = "") -> Sequence[Obj]: ...


@dataclass(frozen=True, slots=True)
class Guise:
    """Another kind in which an object is written: for a change of scale, the Scale."""

    group: str
    version: str
    kind: str
    of: Callable[[Obj], Obj]


@dataclass(slots=True)
class AdmissionRequest:
    operation: str
    resource: str  # plural: `pods`
    kind: str
    user: User
    group: str = ""
    version: str = "v1"
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    obj: Obj | None = None
    """The object to be written; plugins change it in place. None for DELETE."""
    old: Obj | None = None
    dry_run: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    guise: Guise | None = None
    """Replaces `obj` and `old` in requests to webhooks."""
    warnings: list[str] = field(default_factory=list)

    @property
    def storage(self) -> str:
        return status.qualified(self.group, self.resource)

    def object(self) -> Obj:
        """The object of a request that must have one."""
        if self.obj is None:
            raise TypeError(f"{self.operation} {self.storage} carries no object")
        return self.obj


class Plugin(Protocol):
    def handles(self, operation: str, storage: str, subresource: str) -> bool:
        """Called once per combination of arguments; the result is cached."""

    async def admit(self, request: AdmissionRequest) -> None: ...


def forbidden(request: AdmissionRequest, why: str) -> status.StatusError:
    return status.forbidden(request.group, request.resource, _name(request), why)


def forbidden_early(request: AdmissionRequest, why: str) -> status.StatusError:
    """A rejection by a plugin that changes objects: kube-apiserver runs those before it generates a name."""
    name, meta = _name(request), (request.obj or {}).get("metadata", {})
    prefix = meta.get("generateName", "")
    if request.operation == CREATE and prefix and name.startswith(prefix) and len(name) == len(prefix) + _SUFFIX_LENGTH:
        name = prefix
    return status.forbidden(request.group, request.resource, name, why)


def _name(request: AdmissionRequest) -> str:
    meta = (request.obj or {}).get("metadata", {})
    return request.name or meta.get("name") or meta.get("generateName") or "Unknown"
