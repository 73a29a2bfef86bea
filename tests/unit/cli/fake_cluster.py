# SPDX-License-Identifier: Apache-2.0
"""A cluster for commands: objects that are read through the client that they use, without a server.

It answers GET alone, of one object, of lists by namespace, and of watches, which first have all objects, then the
changes that a test has prepared, and end with Ctrl-C.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from typing import Any

import click
import msgspec
from click.testing import CliRunner, Result

from springtide.cli import connecting
from springtide.cli.connecting import Target
from springtide.kube import config
from springtide.kube.client import Client
from springtide.kube.request import Request, Response

Obj = dict[str, Any]
PLURALS = {
    "TrainingJob": ("kai.alibabacloud.com/v1alpha1", "trainingjobs"),
    "MPIJob": ("kubeflow.org/v1", "mpijobs"),
    "TFJob": ("kubeflow.org/v1", "tfjobs"),
    "PyTorchJob": ("kubeflow.org/v1", "pytorchjobs"),
    "Pod": ("v1", "pods"),
    "Node": ("v1", "nodes"),
    "Event": ("v1", "events"),
    "Service": ("v1", "services"),
}


class FakeCluster:
    """Also the transport to it."""

    def __init__(self, *objects: Obj, kinds: Iterable[str] = PLURALS) -> None:
        self._kinds = {PLURALS[kind]: kind for kind in kinds}
        self._objects = {kind: [each for each in objects if _kind(each) == kind] for kind in PLURALS}
        self.changes: list[tuple[str, Obj]] = []
        """ADDED, MODIFIED or DELETED, and the object."""
        self.logs: dict[str, str] = {}
        self.after_list: Callable[[], None] = lambda: None
        """Called after every answer to a list or a read of a job."""
        self.requests: list[str] = []

    async def send(self, request: Request) -> Response:
        self.requests.append(request.target)
        if request.path == "/version":
            return _json({"gitVersion": "v1.36.3"})
        version, rest = _address(request.path)
        namespace = rest.pop(0) if len(rest) > 1 and rest[0] not in [plural for _, plural in self._kinds] else ""
        plural, *named = rest
        kind = self._kinds.get((version, plural))
        if kind is None:
            return _missing("the server could not find the requested resource")
        if named[1:] == ["log"]:
            return Response(200, {}, self.logs.get(named[0], "").encode())
        found = [each for each in self._objects[kind] if namespace in ("", each["metadata"].get("namespace", ""))]
        if named:
            wanted = [each for each in found if each["metadata"]["name"] == named[0]]
            return _json(wanted[0]) if wanted else _missing(f'{plural} "{named[0]}" not found', named[0])
        found = [each for each in found if _selected(each, request.query)]
        answer = _json({"metadata": {"resourceVersion": "1"}, "items": found})
        self.after_list()
        return answer

    async def stream(self, request: Request) -> AsyncGenerator[bytes, None]:
        self.requests.append(request.target)
        version, rest = _address(request.path)
        kind = self._kinds[version, rest[-1]]
        for each in self._objects[kind]:
            if _selected(each, request.query):
                yield _event("ADDED", each)
        marked = {"resourceVersion": "1", "annotations": {"k8s.io/initial-events-end": "true"}}
        yield _event("BOOKMARK", {"kind": kind, "metadata": marked})
        for change, each in [change for change in self.changes if _kind(change[1]) == kind]:
            # Time for the command to show what there is.
            await _moment()
            yield _event(change, each)
        await _moment()
        if self.changes and kind == _kind(self.changes[-1][1]):
            raise KeyboardInterrupt
        await _for_ever()

    async def close(self) -> None:
        pass

    def set(self, obj: Obj) -> None:
        """The object in place of the one of this name."""
        others = [each for each in self._objects[_kind(obj)] if each["metadata"]["name"] != obj["metadata"]["name"]]
        self._objects[_kind(obj)] = [*others, obj]

    def remove(self, obj: Obj) -> None:
        self._objects[_kind(obj)].remove(obj)


class _Target(Target):
    cluster: FakeCluster

    def client(self, *, streams: bool = False) -> Client:
        return Client(self.cluster)


def run(cluster: FakeCluster, command: click.Command, *args: str, monkeypatch: Any) -> Result:
    """As `tide COMMAND ARGS` in this cluster."""

    def found(kubeconfig: str, context: str, namespace: str) -> Target:
        target = _Target(config.Connection("http://fake"), namespace or "default")
        object.__setattr__(target, "cluster", cluster)
        return target

    def everywhere(connection: config.Connection, namespace: str, embedded: str = "") -> Target:
        return found("", "", namespace) if namespace else _all(found("", "", ""))

    monkeypatch.setattr(connecting, "found", found)
    monkeypatch.setattr(connecting, "Target", everywhere)
    return CliRunner().invoke(command, args, standalone_mode=True)


def _all(target: Target) -> Target:
    object.__setattr__(target, "namespace", "")
    return target


def _kind(obj: Obj) -> str:
    if "kind" in obj:
        return str(obj["kind"])
    return "Pod" if "spec" in obj and "containers" in obj["spec"] else "Node"


def _address(path: str) -> tuple[str, list[str]]:
    """`/apis/GROUP/VERSION/...` or `/api/v1/...`: the version, and what follows, without `namespaces`."""
    parts = path.strip("/").split("/")
    version, rest = (parts[1], parts[2:]) if parts[0] == "api" else ("/".join(parts[1:3]), parts[3:])
    return version, rest[1:] if rest[0] == "namespaces" else rest


def _selected(obj: Obj, query: Mapping[str, str]) -> bool:
    labels = obj["metadata"].get("labels") or {}
    wanted = (each.split("=", 1) for each in query.get("labelSelector", "").split(",") if each)
    fields = query.get("fieldSelector", "")
    named = not fields.startswith("metadata.name=") or obj["metadata"]["name"] == fields.removeprefix("metadata.name=")
    return named and all(labels.get(name) == value for name, value in wanted)


def _event(type_: str, obj: Obj) -> bytes:
    versioned = {**obj, "metadata": {"resourceVersion": "1", **obj["metadata"]}}
    return msgspec.json.encode({"type": type_, "object": versioned})


def _json(body: Obj, status: int = 200) -> Response:
    return Response(status, {}, msgspec.json.encode(body))


def _missing(message: str, name: str = "") -> Response:
    details = {"name": name} if name else {}
    body = {"kind": "Status", "reason": "NotFound", "message": message, "code": 404, "details": details}
    return _json(body, 404)


async def _moment() -> None:
    import asyncio

    await asyncio.sleep(0.25)


async def _for_ever() -> None:
    import asyncio

    await asyncio.Event().wait()
