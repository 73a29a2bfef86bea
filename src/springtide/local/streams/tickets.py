# SPDX-License-Identifier: Apache-2.0
"""Tickets for direct exec: the API server decides who may run what, and then stands aside.

A launcher holds one open exec per worker for as long as its job runs, and must not lose them when a server is
restarted. A client on the cluster's own machine therefore asks with `X-Springtide-Direct: 1`. It is authorised,
admitted and audited like any exec; the node leaves the command with the pod's shim under a ticket, and the client
takes the ticket to the shim's socket itself. Only embedded nodes know this; others answer as to any path they do not
have.
"""

from __future__ import annotations

from typing import Any, Final

import aiohttp
from yarl import URL

from springtide.local import status
from springtide.local.streams.kubelet import Kubelet, Location, Query, container_of, flag, pod_path
from springtide.local.streams.logs import refusal, unreachable

HEADER: Final = "X-Springtide-Direct"
POD_HEADER: Final = "X-Springtide-Pod"
"""In which pod the client runs: that pod is shown the socket. The right to exec is the client's, so that a client which
names another pod than its own shows that pod a socket for which it has no ticket, and gains nothing."""
_TIMEOUT: Final = aiohttp.ClientTimeout(total=30)
_MAX_ANSWER: Final = 50_000


def location(kubelet: Kubelet, pod: dict[str, Any], query: Query, client: str = "") -> Location:
    """`client`: the uid of the pod that asks, if it is one."""
    container = container_of(pod, next(iter(query.get("container", ())), ""))
    parameters = [("command", word) for word in query.get("command", ())]
    if flag(query, "tty"):
        parameters.append(("tty", "1"))
    if client:
        parameters.append(("pod", client))
    return kubelet.at(f"/direct/{pod_path(pod)}/{container}", parameters)


async def fetch(session: aiohttp.ClientSession, node: Location, pod_name: str) -> bytes:
    """The node's answer, `{"socket": ..., "ticket": ...}`, or StatusError."""
    try:
        async with session.post(
            URL(node.url, encoded=True), ssl=node.tls or True, timeout=_TIMEOUT, allow_redirects=False
        ) as response:
            body = await response.content.read(_MAX_ANSWER)
    except aiohttp.ClientError as problem:
        # A node agent that is being restarted is back in a moment: the client is told that it may try again.
        raise status.unavailable(unreachable(problem, node, "Post").message) from None
    except TimeoutError:
        raise status.unavailable(f"the node did not answer within {_TIMEOUT.total:.0f} seconds") from None
    if response.status != 200:
        raise refusal(response.status, body.decode(errors="replace"), pod_name)
    return body
