# SPDX-License-Identifier: Apache-2.0
"""Takes out of a scenario's answers what may differ between two runs, and nothing else.

Uids, times, addresses and generated names become numbered placeholders, so that "the same uid again" is still seen.
Versions of objects become their rank, so that their order is still seen; the version of a list or a bookmark only says
up to which of them it had come, because other writers move a cluster's revision too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from tests.contract.apiserver.playing import Answer
from tests.contract.apiserver.scenarios import Scenario, Step
from tests.contract.apiserver.served import only_served

UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
ADDRESS = re.compile(r"\b10\.96\.\d+\.\d+\b(?!/)")
PORT = re.compile(r"(?<=:)3[0-2]\d{3}(?=/)|(?<=value: )3[0-2]\d{3}\b")
TOKEN = re.compile(r"\beyJ[\w-]+\.[\w-]+\.[\w-]+")
ACCESS_VOLUME = re.compile(r"\bkube-api-access-[a-z0-9]{5}\b")
SERVER = re.compile(r"\b127\.0\.0\.1:\d+\b|\b192\.0\.2\.\d+:\d+|\b(?!10\.96\.)\d+\.\d+\.\d+\.\d+:\d{4,5}\b")
REVISIONS = re.compile(r"(resource version: )?\b(current: |record \(|\()\d+")
AGE = re.compile(r"\d+(s|ms)")
QUOTED_VERSION = re.compile(r"(\\*\"resourceVersion\\*\":\\*\")\d+")
GIVEN = ("2000-", "2006-")  # times that scenarios write, and Go's time layout, are compared as they are


def normalised(scenario: Scenario, namespace: str, answers: dict[str, Answer]) -> dict[str, Any]:
    bodies = {step.name: _compared(step, answers[step.name]) for step in scenario.steps}
    return _Normaliser(namespace, answers, bodies).answers(scenario)


def _compared(step: Step, answer: Answer) -> Any:
    """The part of an answer that is compared."""
    body = only_served(answer.body) if step.served else answer.body
    return _kept(body, step.keep) if step.keep is not None and answer.status < 300 else body


class _Normaliser:
    def __init__(self, namespace: str, answers: dict[str, Answer], bodies: dict[str, Any]) -> None:
        self._raw, self._bodies = answers, bodies
        self._names = {namespace: "${ns}"}
        self._numbered: dict[str, dict[str, str]] = {}
        versions: set[int] = set()
        for body in bodies.values():
            for obj in _objects(body):
                metadata = obj["metadata"]
                if str(metadata.get("resourceVersion", "")).isdigit() and "name" in metadata:
                    versions.add(int(metadata["resourceVersion"]))
                self._learn_generated_name(metadata)
        self._versions = sorted(versions)

    def _learn_generated_name(self, metadata: dict[str, Any]) -> None:
        prefix, name = metadata.get("generateName"), metadata.get("name", "")
        if prefix and name.startswith(prefix) and len(name) == len(prefix) + 5 and name not in self._names:
            self._names[name] = f"{prefix}<suffix-{len(self._names)}>"

    def _learn_refused_name(self, step: Step, body: Any) -> None:
        """A refusal names the object that was not made."""
        prefix = ((step.body or {}).get("metadata") or {}).get("generateName") if isinstance(step.body, dict) else None
        if prefix and isinstance(body, dict) and body.get("kind") == "Status":
            self._learn_generated_name({"generateName": prefix, "name": (body.get("details") or {}).get("name", "")})

    def answers(self, scenario: Scenario) -> dict[str, Any]:
        result = {}
        for step in scenario.steps:
            self._learn_refused_name(step, self._raw[step.name].body)
        for step in scenario.steps:
            answer = self._raw[step.name]
            result[step.name] = {
                "status": answer.status,
                "headers": self._value(answer.headers),
                "body": self._value(self._bodies[step.name]),
            }
        return result

    def _value(self, value: Any, key: str = "", holder: dict[str, Any] | None = None) -> Any:
        if isinstance(value, dict):
            return {self._text(k): self._value(v, k, value) for k, v in sorted(value.items())}
        if isinstance(value, list):
            items = [self._value(item, key) for item in value]
            if key in ("managedFields", "causes"):
                items.sort(key=_ordering)
            if key in ("resourceRules", "nonResourceRules"):  # out of a Go map, too
                items.sort(key=lambda item: json.dumps(item, sort_keys=True))
            if key == "cells":
                items = ["<age>" if isinstance(item, str) and AGE.fullmatch(item) else item for item in items]
            return items
        if key == "nodePort" and value:
            return self._number("port", str(value))
        if isinstance(value, str):
            return self._special(value, key, holder or {})
        return value

    def _special(self, value: str, key: str, holder: dict[str, Any]) -> str:
        if key == "resourceVersion" and value.isdigit():
            return self._version(int(value), "name" in holder)
        if key == "continue" and value:
            return "<continue>"
        return self._text(value)

    def _version(self, version: int, of_object: bool) -> str:
        rank = sum(known <= version for known in self._versions)
        return f"<version-{rank}>" if of_object else f"<at-version-{rank}>"

    def _text(self, text: str) -> str:
        for name, placeholder in self._names.items():
            text = text.replace(name, placeholder)
        text = UUID.sub(lambda found: self._number("uid", found[0]), text)
        text = TIME.sub(_time, text)
        text = ADDRESS.sub(lambda found: self._number("address", found[0]), text)
        text = PORT.sub(lambda found: self._number("port", found[0]), text)
        text = TOKEN.sub("<token>", text)
        text = ACCESS_VOLUME.sub("kube-api-access-<suffix>", text)
        text = SERVER.sub("<server>", text)
        text = QUOTED_VERSION.sub(r"\1<version>", text)
        return REVISIONS.sub(lambda found: re.sub(r"\d+$", "<version>", found[0]), text)

    def _number(self, what: str, value: str) -> str:
        known = self._numbered.setdefault(what, {})
        return known.setdefault(value, f"<{what}-{len(known) + 1}>")


def _ordering(item: Any) -> str:
    """Entries of managedFields by manager, because times within one second have no order; causes stay as they are,
    but those of a conflict come out of a Go map."""
    if isinstance(item, dict) and "manager" in item:
        return " ".join(str(item.get(key, "")) for key in ("manager", "operation", "subresource", "apiVersion"))
    return json.dumps(item, sort_keys=True) if item.get("reason") == "FieldManagerConflict" else ""


def _time(found: re.Match[str]) -> str:
    if found[0].startswith(GIVEN):
        return found[0]
    return "<microtime>" if found[1] else "<time>"


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if isinstance(value.get("metadata"), dict):
            yield value
        for item in value.values():
            yield from _objects(item)
    elif isinstance(value, list):
        for item in value:
            yield from _objects(item)


def _kept(body: Any, paths: tuple[str, ...]) -> Any:
    """The parts of a large answer that a scenario is about; `*` stands for any key."""
    return {path: _part(body, path.split("/")) for path in paths}


def _part(value: Any, path: list[str]) -> Any:
    if not path:
        return value
    head, *rest = path
    head = head.replace("~1", "/")
    if head == "*":
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return {str(key): _part(item, rest) for key, item in items}
    if head == "keys()":
        return sorted(value)
    if head.isdigit() and isinstance(value, list):
        return _part(value[int(head)], rest) if int(head) < len(value) else "<absent>"
    if "=" in head and isinstance(value, list):
        key, wanted = head.split("=")
        return [_part(item, rest) for item in value if item.get(key) == wanted]
    return _part(value[head], rest) if isinstance(value, dict) and head in value else "<absent>"
