# SPDX-License-Identifier: Apache-2.0
"""Parsing the request paths of a kubelet. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qs, unquote

from springtide.local.streams.channels import Wanted

Query = Mapping[str, Sequence[str]]

_POD_ONLY: Final = ("portForward",)
_WITH_CONTAINER: Final = ("containerLogs", "exec", "attach", "direct")
_ALONE: Final = ("/healthz", "/pods", "/metrics/resource")


@dataclass(frozen=True, slots=True)
class Asked:
    """`verb` is the first part of a pod's path, or the whole of a path without a pod."""

    verb: str
    namespace: str = ""
    pod: str = ""
    uid: str = ""
    container: str = ""
    query: Query = field(default_factory=dict)

    def first(self, name: str) -> str:
        values = self.query.get(name)
        return values[0] if values else ""

    def flag(self, name: str) -> bool:
        """Streams are requested by `input=1`, log options by `follow=true`."""
        return self.first(name).lower() in ("1", "true")

    @property
    def wanted(self) -> Wanted:
        """A terminal has one stream for both outputs."""
        tty = self.flag("tty")
        return Wanted(self.flag("input"), self.flag("output"), self.flag("error") and not tty, tty)


def parse(target: str) -> Asked | None:
    """Parse a request target; None for an unknown path."""
    path, _, raw_query = target.partition("?")
    query = parse_qs(raw_query, keep_blank_values=True)
    if path in _ALONE:
        return Asked(path, query=query)
    verb, *names = (unquote(part) for part in path.removeprefix("/").split("/"))
    if not all(names):
        return None
    if verb in _POD_ONLY and len(names) in (2, 3):
        namespace, pod, *uid = names
        return Asked(verb, namespace, pod, uid[0] if uid else "", query=query)
    if verb in _WITH_CONTAINER and len(names) in (3, 4):
        namespace, pod, *uid, container = names
        return Asked(verb, namespace, pod, uid[0] if uid else "", container, query)
    return None
