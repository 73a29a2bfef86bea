# SPDX-License-Identifier: Apache-2.0
"""Webhooks that answer anything: the write is refused with a reason or goes on, as failurePolicy says."""

from __future__ import annotations

import base64
import gzip
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.contract.apiserver.servers import Server
from tests.robustness.asking import assert_refused, send

from springtide.local.access import pki

HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
MAPS = "/api/v1/namespaces/robust/configmaps?dryRun=All"
JUDGED = {"metadata": {"name": "judged", "labels": {"judged": "yes"}}}
UID = re.compile(rb'"uid":"([0-9a-f-]{36})"')


class Hook:
    """Reads a question, and sends whatever bytes `answer` makes of its uid."""

    def __init__(self, folder: Path) -> None:
        authority = pki.Authority(folder, datetime.now(UTC))
        pair = authority.pair("hook", pki.Subject("hook", hosts=("127.0.0.1",), serves=True))
        self.ca = base64.b64encode(authority.certificate).decode()
        self.answer: Callable[[str], bytes] = lambda uid: b""
        self._tls = pki.server_context(pair, authority.certificate)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self._listener.getsockname()[1]}/judge"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            try:
                with self._tls.wrap_socket(connection, server_side=True) as wrapped:
                    wrapped.settimeout(5)
                    asked = b""
                    while not (found := UID.search(asked)):
                        asked += wrapped.recv(65536)
                    wrapped.sendall(self.answer(found[1].decode()))
            except OSError:
                continue

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()


def said(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode() + body


def reviewed(**response: Any) -> Callable[[str], bytes]:
    def answer(uid: str) -> bytes:
        review = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}
        return said(json.dumps(review | {"response": {"uid": uid, **response}}).encode())

    return answer


def slowly(uid: str) -> bytes:
    time.sleep(1.5)
    return b""


INVALID: dict[str, Callable[[str], bytes]] = {
    "nothing": lambda uid: b"",
    "no HTTP": lambda uid: b"\x16\x03\x01\r\n\r\n",
    "a redirect to the machine": lambda uid: said(b"", "307 Temporary Redirect", "Location: http://127.0.0.1:22/"),
    "an answer without end": lambda uid: said(b'{"a":"' + b"x" * (8 << 20)),
    "a packed bomb": lambda uid: said(gzip.compress(b" " * (16 << 20)), "200 OK", "Content-Encoding: gzip"),
    "too late": slowly,
    "no JSON": lambda uid: said(b"<html>"),
    "bytes that are no text": lambda uid: said(b'{"kind":"\xff\xfe"}'),
    "too deep": lambda uid: said(b'{"response":{"status":{"details":{"a":' + b"[" * 100_000),
    "a list": lambda uid: said(b"[]"),
    "no response": lambda uid: said(b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}'),
    "a response that is a list": lambda uid: said(b'{"response":[]}'),
    "another uid": reviewed(uid="x" * 100_000),
    "warnings that are no list": reviewed(allowed=True, warnings={"a": 1}),
    "warnings that are no text": reviewed(allowed=True, warnings=[1, None, {}]),
    "allowed that is no boolean": reviewed(allowed="yes"),
    "a status that is no object": reviewed(allowed=False, status="no"),
    "a code that is no number": reviewed(allowed=False, status={"code": "9" * 5000}),
    "a code without bound": reviewed(allowed=False, status={"code": 10**400}),
    "a message that is no text": reviewed(allowed=False, status={"message": {"a": 1}}),
    "details that are no object": reviewed(allowed=False, status={"details": [1]}),
    "a patch": reviewed(allowed=True, patchType="JSONPatch", patch="W10="),
}
DENIALS: dict[str, tuple[dict[str, Any], int]] = {
    "a code of success": ({"code": 200}, 400),
    "a code below all": ({"code": -5}, 400),
    "a code above all": ({"code": 99999}, 599),
    "odd characters": ({"code": 403, "message": "a\r\nX-Injected: yes\x00"}, 403),
    "nothing at all": ({}, 400),
}


@pytest.fixture(scope="module")
def hook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hook]:
    with closing(Hook(tmp_path_factory.mktemp("hook"))) as found:
        yield found


@pytest.fixture
def registered(server: Server, hook: Hook) -> Iterator[Callable[[str], None]]:
    def register(policy: str) -> None:
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
        webhook = {
            "name": "hostile.springtide.dev",
            "clientConfig": {"url": hook.url, "caBundle": hook.ca},
            "rules": [rule],
            "objectSelector": {"matchLabels": {"judged": "yes"}},
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "failurePolicy": policy,
            "timeoutSeconds": 1,
        }
        made = send(server, "POST", HOOKS, {"metadata": {"name": "hostile"}, "webhooks": [webhook]})
        assert made.status == 201, made.body

    yield register
    send(server, "DELETE", f"{HOOKS}/hostile", {})


@pytest.mark.parametrize("case", INVALID)
def test_an_answer_that_is_none_counts_as_a_failed_call(
    server: Server, hook: Hook, registered: Callable[[str], None], case: str
) -> None:
    hook.answer = INVALID[case]
    registered("Fail")
    answer = send(server, "POST", MAPS, JUDGED)
    assert_refused(answer, 500)
    assert 'failed calling webhook "hostile.springtide.dev"' in answer.message
    assert len(answer.message) < 4000


@pytest.mark.parametrize("case", ["nothing", "too deep", "a code without bound", "warnings that are no text"])
def test_it_is_passed_over_where_the_policy_says_so(
    server: Server, hook: Hook, registered: Callable[[str], None], case: str
) -> None:
    hook.answer = INVALID[case]
    registered("Ignore")
    assert send(server, "POST", MAPS, JUDGED).status == 201


@pytest.mark.parametrize("case", DENIALS)
def test_a_denial_is_a_refusal_whatever_it_says(
    server: Server, hook: Hook, registered: Callable[[str], None], case: str
) -> None:
    status, code = DENIALS[case]
    hook.answer = reviewed(allowed=False, status=status)
    registered("Fail")
    answer = send(server, "POST", MAPS, JUDGED)
    assert_refused(answer, code)


def test_warnings_that_a_header_cannot_carry_are_left_out(
    server: Server, hook: Hook, registered: Callable[[str], None]
) -> None:
    hook.answer = reviewed(allowed=True, warnings=["a\r\nX-Injected: yes", "\x00", "x" * 100_000, "fine"])
    registered("Fail")
    assert send(server, "POST", MAPS, JUDGED).status == 201
