# SPDX-License-Identifier: Apache-2.0
"""One embedded server for all bad input. Whatever a test sends it, its log stays clean and it still answers."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from tests.contract.apiserver.servers import Server, embedded
from tests.crash.shapes import DEFINITION_PATH, definition
from tests.robustness.asking import ask, send

NAMESPACE = "/api/v1/namespaces/robust"


class Complaints(logging.Handler):
    """Errors of the server: tracebacks of a last resort, tasks that died unseen."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.name}: {record.getMessage()} {record.exc_info and record.exc_info[1]!r}")


@pytest.fixture(scope="session")
def robust_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with embedded(tmp_path_factory.mktemp("cluster") / "data") as running:
        send(running, "POST", "/api/v1/namespaces", {"metadata": {"name": "robust"}})
        send(running, "POST", f"{NAMESPACE}/serviceaccounts", {"metadata": {"name": "default"}})
        send(running, "POST", DEFINITION_PATH, definition("widgets", "Widget"))
        while ask(running, "GET", "/apis/example.com/v1/widgets").status != 200:
            pass
        yield running


@pytest.fixture
def server(robust_server: Server) -> Iterator[Server]:
    complaints = Complaints()
    logging.getLogger().addHandler(complaints)
    try:
        yield robust_server
    finally:
        logging.getLogger().removeHandler(complaints)
    assert complaints.lines == []
    assert ask(robust_server, "GET", "/readyz").body == b"ok"
