# SPDX-License-Identifier: Apache-2.0
"""The two servers that scenarios are played on, reached by plain HTTP so that nothing is hidden by a client library."""

from __future__ import annotations

import asyncio
import base64
import gc
import http.client
import os
import ssl
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from springtide.local.cluster import Cluster, Options, running

TIMEOUT = 30
"""Seconds. A CRD with many rules is compiled for seconds, and for more of them on a busy machine."""


@dataclass
class Server:
    """Where a server is and how its administrator is let in."""

    url: str
    context: ssl.SSLContext
    headers: dict[str, str] = field(default_factory=dict)

    def connection(self, *, anonymous: bool = False) -> http.client.HTTPSConnection:
        """A new connection; an anonymous one shows no client certificate."""
        address = urlsplit(self.url)
        context = _trusting_anyone() if anonymous else self.context
        return http.client.HTTPSConnection(address.hostname or "", address.port, timeout=TIMEOUT, context=context)


def _trusting_anyone() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def oracle() -> Server:
    """The real server that `hack/oracle/control_plane.py run` has started around this process."""
    try:
        url, token = os.environ["SPRINGTIDE_ORACLE_SERVER"], os.environ["SPRINGTIDE_ORACLE_TOKEN"]
    except KeyError as missing:
        raise RuntimeError(f"{missing} is not set: run this with `make test-oracle`") from None
    return Server(url, _trusting_anyone(), {"Authorization": f"Bearer {token}"})


def from_kubeconfig(path: Path) -> Server:
    config = yaml.safe_load(path.read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    context = ssl.create_default_context(cadata=authority)
    pair = path.with_name("contract-client.pem")
    parts = ("client-certificate-data", "client-key-data")
    pair.write_bytes(b"\n".join(base64.b64decode(user[part]) for part in parts))
    context.load_cert_chain(pair)
    return Server(cluster["server"], context)


@contextmanager
def embedded(directory: Path, *, controllers: bool = False) -> Iterator[Server]:
    """An embedded cluster in a thread of its own; without upkeep nothing but the caller writes."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="embedded-cluster")
    thread.start()
    context = running(Options(directory, port=0, controllers=controllers))

    async def enter() -> Cluster:
        return await context.__aenter__()

    async def leave() -> None:
        await context.__aexit__(None, None, None)

    try:
        cluster = asyncio.run_coroutine_threadsafe(enter(), loop).result(30)
        try:
            yield from_kubeconfig(cluster.directory.kubeconfig)
        finally:
            asyncio.run_coroutine_threadsafe(leave(), loop).result(30)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
        with warnings.catch_warnings():  # clients in this process that never hang up leave the server's end open
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()
