# SPDX-License-Identifier: Apache-2.0
"""Plays a scenario on one server and brings its answers home as they came."""

from __future__ import annotations

import gzip
import http.client
import json
import re
import time
import uuid
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from tests.contract.apiserver.scenarios import Scenario, Step, merged
from tests.contract.apiserver.servers import TIMEOUT, Server

SHOWN_HEADERS = ("Content-Type", "Content-Encoding", "Warning", "Retry-After", "WWW-Authenticate", "Allow", "Location")
PATIENCE = 20.0  # seconds that `until` waits
_REFERENCE = re.compile(r"\$\{([^}]+)\}")


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, Any]
    body: Any


class Player:
    """One scenario on one server, in a namespace of its own."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._connection = server.connection()
        self.namespace = f"judge-{uuid.uuid4().hex[:8]}"
        self._answers: dict[str, Any] = {}

    def play(self, scenario: Scenario) -> dict[str, Answer]:
        try:
            self._prepare()
            return {step.name: self._step(step) for step in scenario.steps}
        finally:
            self._withdraw(scenario)
            self._connection.close()

    def _prepare(self) -> None:
        """A namespace with the service account that a controller would make."""
        namespace = {"metadata": {"name": self.namespace}}
        account = {"metadata": {"name": "default"}}
        for path, body in (("", namespace), (f"/{self.namespace}/serviceaccounts", account)):
            answer = self._once(Step("prepare", "POST", f"/api/v1/namespaces{path}", body))
            if answer.status != 201:
                raise RuntimeError(f"cannot prepare {self.namespace}: {answer}")

    def _withdraw(self, scenario: Scenario) -> None:
        """Without its kinds: those of other tests on the same server may have the same names."""
        for step in scenario.steps:
            if isinstance(step.body, dict) and step.body.get("kind") == "CustomResourceDefinition":
                name = self._filled(step.body["metadata"]["name"])
                path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"
                self._once(Step("withdraw", "DELETE", path))

    def _step(self, step: Step) -> Answer:
        step = replace(
            step,
            target=self._filled(step.target, quoted=True),
            body=self._body(step),
            text=self._filled(step.text),
            headers=self._filled(step.headers),
        )
        deadline = time.monotonic() + PATIENCE
        answer = self._once(step)
        while step.until and answer.status != step.until:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{step.name}: still {answer.status}, not {step.until}, after {PATIENCE} s")
            time.sleep(0.02)
            answer = self._once(step)
        self._answers[step.name] = answer.body
        return answer

    def _body(self, step: Step) -> Any:
        change = self._filled(step.body)
        return merged(self._answers[step.source], change or {}) if step.source else change

    def _filled(self, value: Any, quoted: bool = False) -> Any:
        if isinstance(value, str) and value.startswith("@{"):
            return int(self._value(value[2:-1], False))
        if isinstance(value, str):
            return _REFERENCE.sub(lambda match: self._value(match[1], quoted), value)
        if isinstance(value, list):
            return [self._filled(item) for item in value]
        if isinstance(value, dict):
            return {self._filled(key): self._filled(item) for key, item in value.items()}
        return value

    def _value(self, reference: str, quoted: bool) -> str:
        if reference == "ns":
            return self.namespace
        step, *path = reference.split(".")
        value = self._answers[step]
        for key in path:
            value = (
                value[int(key)] if isinstance(value, list) else value.get(key, "") if isinstance(value, dict) else ""
            )
        return quote(str(value), safe="") if quoted else str(value)

    def _once(self, step: Step) -> Answer:
        headers = {"User-Agent": "judge/1.0", "Accept": "application/json", **self._server.headers, **step.headers}
        body = _encoded(step)
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        if step.anonymous:
            headers.pop("Authorization", None)
            headers |= step.headers
        response = self._send(step, body, {key: value for key, value in headers.items() if value != "-"})
        if response is None:
            return Answer(0, {}, "the connection was closed without an answer")
        shown = {name: _header(response, name) for name in SHOWN_HEADERS if response.getheader(name) is not None}
        content = self._events(response, step.events) if step.events else _decoded(response)
        if step.anonymous:
            self._connection.close()
            self._connection = self._server.connection()
        elif response.will_close:
            self._connection.close()
        return Answer(response.status, shown, content)

    def _send(self, step: Step, body: bytes | None, headers: dict[str, str]) -> http.client.HTTPResponse | None:
        for _ in range(2):  # a kept connection may have been closed meanwhile
            if step.anonymous:
                self._connection.close()
                self._connection = self._server.connection(anonymous=True)
            try:
                self._connection.request(step.method, step.target, body, headers)
                return self._connection.getresponse()
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                self._connection.close()
        return None

    def _events(self, response: http.client.HTTPResponse, wanted: int) -> Any:
        if response.status != 200:
            return _decoded(response)
        found: list[Any] = []
        try:
            while len(found) < wanted and (line := response.readline()):
                found.append(json.loads(line))
        except TimeoutError:
            found.append(f"nothing more came for {TIMEOUT} s")
        finally:
            response.close()
            self._connection.close()
        return found


def _encoded(step: Step) -> bytes | None:
    if step.size:
        padded = json.dumps(step.body).encode()
        return padded.replace(b"PADDING", b"x" * step.size)
    if step.text is not None:
        return step.text.encode()
    return None if step.body is None else json.dumps(step.body).encode()


def _header(response: http.client.HTTPResponse, name: str) -> Any:
    values = response.headers.get_all(name) or []
    return sorted(values) if name == "Warning" else values[0]


def _decoded(response: http.client.HTTPResponse) -> Any:
    raw = response.read()
    if response.getheader("Content-Encoding") == "gzip":
        raw = gzip.decompress(raw)
    text = raw.decode(errors="replace")
    if text and ("json" in response.getheader("Content-Type", "") or text[0] == "{"):
        lines = text.splitlines()
        try:
            return json.loads(text)
        except ValueError:
            return [json.loads(line) for line in lines]  # a watch that ended by itself
    return text
