# SPDX-License-Identifier: Apache-2.0
"""No request, however long, deep or repetitive its values, keeps the server from others or takes its memory.

CI tries one case in sixteen, always the same, and all that was costly once. `make test-robustness` tries every case,
which takes ten minutes on two cores: `SPRINGTIDE_COMPLEXITY` is then `all`. With `spec.containers` it tries those whose
name contains the text.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from tests.contract.apiserver.servers import Server
from tests.robustness.asking import ask, send
from tests.robustness.complexity.cases import Case, builtin_cases
from tests.robustness.complexity.custom_cases import (
    OBJECTS,
    custom,
    custom_cases,
    custom_values,
    patch_cases,
    prepared,
    selector_cases,
    watch_cases,
)
from tests.robustness.complexity.measuring import PLANTED, WITH_CONTROLLERS, Measured, measured
from tests.robustness.complexity.stored_cases import crowd, stored_cases
from tests.robustness.complexity.symptoms import symptom_cases
from tests.robustness.complexity.verb_cases import NAME, bases, custom_updates, verb_cases

LAG = 0.2
MEMORY = 64 << 20
WORK = 2.5
"""Seconds of processor time. The loop turns meanwhile, but all large requests wait for each other."""
AFRESH = 500
"""Cases after which the memory held then no longer counts: a heap grows by fragments, which is no request's doing."""
SETTLING = 0.3
"""Seconds in which controllers and the scheduler begin to act on an object."""
CHOICE = os.environ.get("SPRINGTIDE_COMPLEXITY", "sample")


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measured]:
    with measured(tmp_path_factory.mktemp("complexity") / "data") as running:
        send(running.server, "POST", "/api/v1/namespaces", {"metadata": {"name": "tried"}})
        send(running.server, "POST", "/api/v1/namespaces/tried/serviceaccounts", {"metadata": {"name": "default"}})
        for path, obj in (*prepared(), *bases()):
            assert send(running.server, "POST", path, obj).status == 201
        while send(running.server, "POST", OBJECTS, custom({}) | {"metadata": {"name": "base"}}).status != 201:
            pass
        yield running


def chosen(cases: Iterable[Case]) -> Iterator[Case]:
    for case in cases:
        match CHOICE:
            case "all":
                wanted = True
            case "sample":
                wanted = case.in_sample
            case _:
                wanted = CHOICE in case.id
        if wanted:
            yield case


def too_costly(
    process: Measured, cases: Iterable[Case], settling: float = 0.0, memory: int = MEMORY, first: int = 0
) -> list[str]:
    """The cases that took more than a request may, with what they took, and what followed while it settled."""
    found = []
    for number, case in enumerate(cases, first):
        if number % AFRESH == 0:
            process.forget()
        body = case.body
        process.begin()
        status = _status(process.server, case, body)
        time.sleep(settling)
        cost = process.end()
        took = f"lag {cost.lag * 1000:.0f} ms, work {cost.work * 1000:.0f} ms, {cost.memory >> 20} MiB"
        if cost.lag > LAG or cost.memory > memory or cost.work > WORK or status >= 500:
            found.append(f"{case.id}: {status}, {took}")
        if os.environ.get("SPRINGTIDE_COMPLEXITY_SHOWN"):
            print(case.id, status, took, f"{len(body)} bytes", flush=True)
    return found


def stored_and_deleted(process: Measured, cases: Iterable[Case]) -> list[str]:
    found = []
    for number, case in enumerate(cases):
        memory = 3 * MEMORY  # the server keeps what watches may still ask for
        found += too_costly(process, [case], SETTLING, memory, number)
        collection, name = case.path, case.make()["metadata"]["name"]
        ask(process.server, "DELETE", f"{collection}/{name}?gracePeriodSeconds=0")
    return found


_UNLIKE_THE_KIND = b"failed to convert new object"
"""kube-apiserver answers 500 when what is applied does not fit the kind, and so does this server."""


def _status(server: Server, case: Case, body: bytes) -> int:
    """The machine may be busy with other tests: only what the server does itself counts."""
    connection = server.connection()
    connection.timeout = 60
    try:
        connection.request(case.method, case.path, body or None, {**server.headers, "Content-Type": case.media})
        answer = connection.getresponse()
        text = answer.read()
        return 422 if answer.status == 500 and _UNLIKE_THE_KIND in text else answer.status
    except TimeoutError:
        return 504
    finally:
        connection.close()


def collections(process: Measured) -> list[tuple[str, str, str]]:
    """Kind, apiVersion and path of everything that can be created."""
    server, found = process.server, []
    groups = json.loads(ask(server, "GET", "/apis").body)["groups"]
    paths = ["/api/v1", *(f"/apis/{group['preferredVersion']['groupVersion']}" for group in groups)]
    for path in paths:
        listed = json.loads(ask(server, "GET", path).body)
        for each in listed["resources"]:
            if "create" in each["verbs"] and "/" not in each["name"]:
                place = "/namespaces/tried" if each["namespaced"] else ""
                found.append((each["kind"], listed["groupVersion"], f"{path}{place}/{each['name']}"))
    # Pods first: their spec is part of many other kinds, and tried where it is met first.
    return sorted(found, key=lambda each: (each[0] != "Pod", each[0]))


@pytest.mark.timeout(3600)
def test_no_field_of_a_builtin_kind_is_costly(process: Measured) -> None:
    assert too_costly(process, chosen(builtin_cases(collections(process)))) == []


@pytest.mark.timeout(1800)
def test_no_field_of_a_custom_resource_is_costly(process: Measured) -> None:
    assert too_costly(process, chosen(custom_cases())) == []


@pytest.mark.timeout(3600)
def test_no_write_verb_is_costly(process: Measured) -> None:
    base = json.loads(ask(process.server, "GET", f"{OBJECTS}/{NAME}").body)
    updates = custom_updates(base["metadata"]["resourceVersion"], custom_values())
    assert too_costly(process, chosen((*verb_cases(), *updates))) == []


@pytest.mark.timeout(600)
def test_nothing_that_was_costly_once_is_so_again(process: Measured) -> None:
    assert too_costly(process, symptom_cases()) == []


@pytest.mark.timeout(600)
def test_no_watch_is_costly(process: Measured) -> None:
    assert too_costly(process, watch_cases()) == []


@pytest.mark.timeout(600)
def test_no_patch_is_costly(process: Measured) -> None:
    assert too_costly(process, patch_cases()) == []


@pytest.mark.timeout(600)
def test_no_selector_is_costly(process: Measured) -> None:
    assert too_costly(process, selector_cases()) == []


@pytest.mark.timeout(1800)
def test_no_stored_object_is_costly_for_controllers_and_scheduler(tmp_path: Path) -> None:
    with measured(tmp_path / "whole", WITH_CONTROLLERS) as whole:
        server = whole.server
        send(server, "POST", "/api/v1/namespaces", {"metadata": {"name": "tried"}})
        for path, obj in crowd():
            while (answer := send(server, "POST", path, obj)).status == 403:  # no service account yet
                time.sleep(0.1)
            assert answer.status == 201, answer.body
        assert stored_and_deleted(whole, chosen(stored_cases())) == []


def test_a_validator_that_compares_all_with_all_is_found(tmp_path: Path) -> None:
    labels = {f"k{number}": "v" for number in range(14_000)}
    path = "/api/v1/namespaces?dryRun=All"
    case = Case("labels", "POST", path, lambda: {"metadata": {"name": "x", "labels": labels}})
    with measured(tmp_path / "honest") as honest:
        assert too_costly(honest, [case]) == []
    with measured(tmp_path / "planted", PLANTED) as planted:
        assert len(too_costly(planted, [case])) == 1
