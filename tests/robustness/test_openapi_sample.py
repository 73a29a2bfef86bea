# SPDX-License-Identifier: Apache-2.0
"""A bounded sample of what schemathesis makes of the OpenAPI documents we serve ourselves."""

from __future__ import annotations

import json
import random
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from tests.contract.apiserver.servers import Server
from tests.robustness.asking import ask, assert_refused

schemathesis = pytest.importorskip("schemathesis", reason="make test-robustness installs it")

DOCUMENTS = ["api/v1", "apis/apps/v1", "apis/batch/v1", "apis/rbac.authorization.k8s.io/v1"]
OPERATIONS = 12
EXAMPLES = 4
STREAMS = ("watch", "proxy", "exec", "attach", "portforward", "log")


def _operations(server: Server, document: str) -> list[Any]:
    text = ask(server, "GET", f"/openapi/v3/{document}").body
    schema = schemathesis.openapi.from_dict(json.loads(text))
    found = [result.ok() for result in schema.get_all_operations()]
    quiet = [operation for operation in found if not any(word in operation.path for word in STREAMS)]
    return random.Random(document).sample(quiet, min(OPERATIONS, len(quiet)))


@pytest.mark.timeout(240)
@pytest.mark.parametrize("document", DOCUMENTS)
def test_generated_calls_are_answered(server: Server, document: str) -> None:
    for operation in _operations(server, document):
        _exercise(server, operation)


def _exercise(server: Server, operation: Any) -> None:
    @settings(
        max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None
    )
    @given(case=operation.as_strategy())
    def check(case: Any) -> None:
        query = {name: value for name, value in (case.query or {}).items() if name not in ("watch", "timeoutSeconds")}
        path = f"{case.formatted_path}?{urlencode(query | {'dryRun': 'All'}, doseq=True, errors='replace')}"
        body = None if type(case.body).__name__ == "NotSet" else json.dumps(case.body, default=str).encode()
        answer = ask(server, case.method, path, body, {"Content-Type": case.media_type or "application/json"})
        if answer.status >= 400 and answer.status != 404:
            assert_refused(answer, *range(400, 500), 504)

    check()
