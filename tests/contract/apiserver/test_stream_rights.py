# SPDX-License-Identifier: Apache-2.0
"""The embedded server opens streams to whom the real one opens them, and no spelling of a path gets around that."""

from __future__ import annotations

import pytest
from tests.contract.apiserver.servers import Server
from tests.contract.apiserver.stream_rights import FORBIDDEN, NO_PATH, PROTOCOLS, THROUGH, Asking, expected

GET_ONLY, BOTH = "get", "get+create"


@pytest.fixture(scope="module")
def asking(server: Server) -> Asking:
    return Asking(server)


@pytest.mark.timeout(120)
def test_every_stream_needs_the_rights_that_the_real_server_asks_for(asking: Asking) -> None:
    assert asking.table() == expected()


@pytest.mark.parametrize(
    "spelled",
    [
        "exec/default/web/c",
        "%65xec/default/web/c",
        "%2565xec/default/web/c",
        "exec%2Fdefault%2Fweb%2Fc",
        "/exec/default/web/c",
        "./exec/default/web/c",
        "x/../exec/default/web/c",
        "x/%2e%2e/exec/default/web/c",
        "..%5Cexec/default/web/c",
        "EXEC/default/web/c",
        "portforward/default/web",
        "direct/default/web/c",
    ],
)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_no_spelling_of_a_nodes_path_gets_around_the_right_to_create(
    asking: Asking, spelled: str, protocol: str
) -> None:
    path = asking.path("nodes/proxy", spelled)
    assert asking.verdict(path, "GET", protocol, GET_ONLY) == FORBIDDEN
    assert asking.verdict(path, "GET", protocol, BOTH) == THROUGH


@pytest.mark.parametrize("tail", ["metrics", "pods", "containerLogs/default/exec/c", "logs/exec", "executions"])
def test_a_right_to_get_reads_what_a_node_shows(asking: Asking, tail: str) -> None:
    assert asking.verdict(asking.path("nodes/proxy", tail), "GET", "plain", GET_ONLY) == THROUGH


@pytest.mark.parametrize(
    "spelled", ["/{0}", "{0}/", "/./{0}", "{0}%2F", "{1}%65xec", "{1}%2565xec", "{1}EXEC", "{1}/exec"]
)
@pytest.mark.parametrize("protocol", ["websocket", "spdy"])
def test_no_spelling_of_a_pods_path_runs_a_command_with_a_right_to_get(
    asking: Asking, spelled: str, protocol: str
) -> None:
    whole = asking.path("pods/exec").partition("?")[0]
    path = spelled.format(whole, whole.removesuffix("exec")) + "?command=ls&stdout=1"
    assert asking.verdict(path, "GET", protocol, GET_ONLY) in (FORBIDDEN, NO_PATH)
