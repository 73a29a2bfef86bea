# SPDX-License-Identifier: Apache-2.0
"""The operator's hands at a server that agrees to everything, unless it is told not to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any

import msgspec
from tests.unit.controllers.cached import NAME, NAMESPACE, UID
from tests.unit.kube.fake_api import answer

from springtide.api.kinds.scalers import SCALE_IN, SCALE_OUT
from springtide.api.kinds.status import JobStatus
from springtide.controllers.acting import Executor, Subject
from springtide.controllers.background import Background
from springtide.controllers.caches import Caches
from springtide.controllers.inquiring import Inquirer
from springtide.controllers.metrics import Metrics
from springtide.controllers.scalers.scripts import Scripts
from springtide.controllers.views import JobView
from springtide.jobs.actions import Action
from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.controller import Result
from springtide.kube.events import EventRecorder
from springtide.kube.informer import Informer, Informers
from springtide.kube.request import Request, Response
from springtide.kube.resources import Key, Resource

MPIJOBS = Resource("kubeflow.org", "v2beta1", "mpijobs", "MPIJob")
REFERENCE = {"apiVersion": "kubeflow.org/v1", "kind": "MPIJob", "namespace": NAMESPACE, "name": NAME, "uid": UID}
SUBJECT = Subject("MPIJob", Key(NAMESPACE, NAME), UID, REFERENCE, "41")


@dataclass
class Server:
    """Says yes to everything, unless told otherwise; and never more than one thing at a time about a request."""

    answers: dict[str, Response] = field(default_factory=dict)
    """By method and last part of the path; the first of a kind only."""
    refuses: Response | None = None
    """What is said to everybody who wants to create something."""
    requests: list[Request] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0
    version: int = 100
    offline: bool = False

    async def send(self, request: Request) -> Response:
        self.requests.append(request)
        if self.offline:
            raise errors.Unreachable("offline")
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0)
        self.at_once -= 1
        name = request.path.rpartition("/")[2]
        given = self.answers.pop(f"{request.method} {name}", self.refuses if request.method == "POST" else None)
        return given or self._yes(request, name)

    def _yes(self, request: Request, name: str) -> Response:
        self.version += 1
        body = msgspec.json.decode(request.body) if request.method == "POST" else {"metadata": {"name": name}}
        body["metadata"] |= {"namespace": NAMESPACE, "resourceVersion": str(self.version)}
        return answer(body, 201 if request.method == "POST" else 200)

    async def stream(self, request: Request) -> AsyncGenerator[bytes, None]:
        raise AssertionError("nobody watches here")
        yield b""

    async def close(self) -> None: ...

    def bodies(self, method: str) -> list[Any]:
        return [msgspec.json.decode(each.body) for each in self.requests if each.method == method]

    def done(self) -> list[str]:
        return [f"{each.method} {each.path.partition('/namespaces/ns/')[2]}" for each in self.requests]


class Recorder(EventRecorder):
    def __init__(self, client: Client) -> None:
        super().__init__(client, "test")
        self.said: list[tuple[str, str, str]] = []

    def record(self, about: Any, kind: str, reason: str, message: str) -> None:
        assert about["uid"] in (UID, "u-grow")
        self.said.append((kind, reason, message))


@dataclass
class Scene:
    server: Server
    caches: Caches
    jobs: Informer[JobView]
    recorder: Recorder
    executor: Executor

    async def act(self, *actions: Action, old: JobStatus | None = None) -> Result | None:
        return await self.executor.act(SUBJECT, old or JobStatus(), actions)


def a_scene() -> Scene:
    server = Server()
    client = Client(server)
    scalers = {"TrainingJob": (SCALE_OUT, SCALE_IN)}
    caches, recorder = Caches(Informers(client), "", "", scalers=scalers), Recorder(client)
    jobs = caches.jobs(MPIJOBS)
    for informer in (*caches.made, *caches.scalers.informers.values(), jobs):
        informer._version = "1"  # as if they were filled
    scripts = Scripts(client, caches.pods, caches.scalers.runs, lambda _: None)
    background = Background(Inquirer(client, caches, lambda _: None), scripts)
    return Scene(server, caches, jobs, recorder, Executor(client, caches, jobs, recorder, background, Metrics()))
