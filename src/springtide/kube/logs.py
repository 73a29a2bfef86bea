# SPDX-License-Identifier: Apache-2.0
"""Requests for the logs of pods, and for those that an embedded cluster keeps of removed pods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from springtide.kube import errors, request
from springtide.kube.client import Client
from springtide.kube.request import Request
from springtide.kube.resources import PODS, Key, Obj, Resource

KEPT: Final = Resource("logs.springtide.dev", "v1alpha1", "podlogs", "PodLog")
"""Served by the embedded cluster only; any other server answers 403 or 404."""


@dataclass(frozen=True, slots=True)
class LogOptions:
    """The options of `pods/log`."""

    container: str = ""
    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    tail: int | None = None
    since_seconds: int | None = None
    since_time: str = ""

    def query(self) -> dict[str, str]:
        flags = {"follow": self.follow, "previous": self.previous, "timestamps": self.timestamps}
        given: dict[str, Any] = {"container": self.container, "sinceTime": self.since_time}
        found = {name: text for name, text in given.items() if text}
        found |= {name: "true" for name, on in flags.items() if on}
        numbers = {"tailLines": self.tail, "sinceSeconds": self.since_seconds}
        return found | {name: str(number) for name, number in numbers.items() if number is not None}


def log(pod: Key, options: LogOptions) -> Request:
    return request.get(PODS, pod, "log", options.query())


def kept_log(name: Key, options: LogOptions) -> Request:
    """`name` is that of the list of kept logs."""
    return request.get(KEPT, name, "log", options.query())


async def kept(client: Client, namespace: str, labels: str = "") -> list[Obj]:
    """The removed pods whose logs are kept; none on other servers, or without the right to read them."""
    query = {"labelSelector": labels} if labels else {}
    path = request.path_of(KEPT, namespace)
    try:
        found: list[Obj] = (await client.document(Request("GET", path, query))).get("items") or []
    except (errors.NotFound, errors.Forbidden):
        return []
    return found
