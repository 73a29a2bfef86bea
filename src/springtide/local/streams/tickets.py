# SPDX-License-Identifier: Apache-2.0
"""Tickets for direct exec, which the API server authorizes but does not carry.

A launcher holds one open exec per worker for as long as its job runs, and must not lose them when a server restarts. A
client on the cluster's own machine therefore sends `X-Springtide-Direct: 1`. The request is authorized, admitted and
audited like any exec; the node registers the command at the pod's shim under a ticket, and the client presents the
ticket at the shim's socket itself. Only embedded nodes support this; others respond as to any unknown path.
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
"""The pod of the client, into which the socket is mounted. The right to exec is the client's: a client that names
another pod only gives that pod a socket for which it has no ticket."""
_TIMEOUT: Final = aiohttp.ClientTimeout(total=30)
_MAX_ANSWER: Final = 50_000


def location(kubelet: Kubelet, pod: dict[str, Any], query: Query, client: str = "") -> Location:
    """`client`: the uid of the client's pod, if it runs in one."""
    container = container_of(pod, next(iter(query.get("container", ())), ""))
    parameters = [("command", word) for word in query.get("command", ())]
    if flag(query, "tty"):
        parameters.append(("tty", "1"))
    if client:
        parameters.append(("pod", client))
    return kubelet.at(f"/direct/{pod_path(pod)}/{container}", parameters)


async def fetch(session: aiohttp.ClientSession, node: Location, pod_name: str) -> bytes:
    """The node's response, `{"socket": ..., "ticket": ...}`, or StatusError."""
    try:
        async with session.post(
            URL(node.url, encoded=True), ssl=node.tls or True, timeout=_TIMEOUT, allow_redirects=False
        ) as response:
            body = await response.content.read(_MAX_ANSWER)
    except aiohttp.ClientError as problem:
        # A node agent that is restarting is back in a moment: the error tells the client to retry.
        raise status.unavailable(unreachable(problem, node, "Post").message) from None
    except TimeoutError:
        raise status.unavailable(f"the node did not answer within {_TIMEOUT.total:.0f} seconds") from None
    if response.status != 200:
        raise refusal(response.status, body.decode(errors="replace"), pod_name)
    return body
