# SPDX-License-Identifier: Apache-2.0
"""Simple requests to a running embedded server, for commands that must respond quickly.

`springtide.kube.client` can do more, but importing its HTTP library takes longer than all of `tide status`.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from springtide.api.mirror_pods import is_mirror
from springtide.cli.speaking import shown
from springtide.kube import config
from springtide.messages import text

PATIENCE = 5.0
"""Seconds that one request may take."""
_COUNTED = ("nodes", "namespaces", "pods")
_HEADS = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
"""The least that counting objects requires."""


class SilentError(Exception):
    """The server does not answer, or not as expected."""


class SlowError(SilentError):
    """The server has not answered in time."""


class NotServedError(ValueError):
    """The server has no such resource."""


@dataclass(frozen=True, slots=True)
class Found:
    counts: dict[str, int]
    """The number of objects of a few kinds; without mirror pods, which are not the user's."""
    ready: int
    """Ready nodes."""
    running: int
    """Running pods."""


def look(kubeconfig: Path, patience: float = PATIENCE) -> Found:
    with connected(kubeconfig, patience) as server:
        counts = {plural: _count(answer(server, f"/api/v1/{plural}?limit=1")) for plural in _COUNTED}
        nodes = answer(server, "/api/v1/nodes")["items"] if counts["nodes"] else []
        running = answer(server, "/api/v1/pods?fieldSelector=status.phase%3DRunning") if counts["pods"] else {}
        pods = running.get("items") or ()
        mirrors = sum(is_mirror(pod) for pod in pods)
        counts["pods"] = max(counts["pods"] - mirrors, 0)
        return Found(counts, sum(_is_ready(node) for node in nodes), len(pods) - mirrors)


@contextmanager
def connected(kubeconfig: Path, patience: float = PATIENCE) -> Iterator[http.client.HTTPSConnection]:
    """A connection for requests; SlowError when an answer takes longer than `patience` seconds."""
    try:
        connection = asyncio.run(config.from_kubeconfig(str(kubeconfig)))
    except config.ConfigError as error:
        raise SilentError(str(error)) from None
    address = urlsplit(connection.server)
    context = connection.ssl if isinstance(connection.ssl, ssl.SSLContext) else None
    server = http.client.HTTPSConnection(address.hostname or "", address.port, timeout=patience, context=context)
    try:
        yield server
    except TimeoutError:
        raise SlowError(shown(text("no answer within {seconds} s", seconds=f"{patience:g}"))) from None
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError) as error:
        raise SilentError(str(error) or type(error).__name__) from None
    finally:
        server.close()


def answer(server: http.client.HTTPSConnection, path: str) -> Any:
    heads = _HEADS if "fieldSelector" in path else "application/json"
    server.request("GET", path, headers={"Accept": heads})
    response = server.getresponse()
    body = response.read()
    if response.status == http.client.NOT_FOUND:
        raise NotServedError(path)
    if response.status != http.client.OK:
        raise ValueError(shown(text("GET {path} is answered with {status}", path=path, status=response.status)))
    return json.loads(body)


def _count(listing: Any) -> int:
    return len(listing.get("items") or ()) + int(listing["metadata"].get("remainingItemCount", 0))


def _is_ready(node: Any) -> bool:
    conditions = node["status"].get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
