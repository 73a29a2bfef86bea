# SPDX-License-Identifier: Apache-2.0
"""How long an address stays taken."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec
import pytest

from springtide.local.apiserver.writing.service_addresses import ServiceAddresses
from springtide.local.kinds.strategy import Obj
from springtide.local.status import StatusError
from springtide.local.store.backend import Key, Store
from springtide.local.store.opening import open_store

ADDRESS = "10.96.0.7"
KEY = Key("services", "ns", "s")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    opened = await open_store(None)
    yield opened
    await opened.close()


def a_service(name: str = "s") -> Obj:
    ports = [{"port": 80, "protocol": "TCP", "targetPort": 80}]
    spec = {"type": "ClusterIP", "clusterIP": ADDRESS, "clusterIPs": [ADDRESS], "ports": ports}
    return {"metadata": {"name": name}, "spec": spec}


def a_node_port(name: str, wanted: int = 0) -> Obj:
    port = {"port": 80, "protocol": "TCP", "targetPort": 80} | ({"nodePort": wanted} if wanted else {})
    return {"metadata": {"name": name}, "spec": {"type": "NodePort", "ports": [port]}}


async def test_an_address_is_promised_while_its_write_is_under_way_and_free_when_that_failed(store: Store) -> None:
    clock = Clock()
    addresses = ServiceAddresses(store, "10.96.0.0/16", lambda size: 0, clock)
    addresses.complete(a_service(), None)
    with pytest.raises(StatusError, match="already allocated"):
        addresses.complete(a_service("other"), None)
    clock.now = 10.0
    addresses.complete(a_service("other"), None)


async def test_a_node_port_is_promised_too(store: Store) -> None:
    clock = Clock()
    addresses = ServiceAddresses(store, "10.96.0.0/16", lambda size: 0, clock)
    for _ in range(2):
        addresses.complete(a_node_port("s", 30000), None)
    with pytest.raises(StatusError, match="provided port is already allocated"):
        addresses.complete(a_node_port("other", 30000), None)
    chosen = a_node_port("chosen")
    addresses.complete(chosen, None)
    assert chosen["spec"]["ports"][0]["nodePort"] == 30001
    clock.now = 10.0
    addresses.complete(a_node_port("other", 30000), None)


async def test_a_service_may_ask_again_for_the_address_that_was_promised_to_it(store: Store) -> None:
    """After a dry run, a refusal by a webhook, or its deletion right after it was made."""
    addresses = ServiceAddresses(store, "10.96.0.0/16", lambda size: 0, Clock())
    for _ in range(2):
        addresses.complete(a_service(), None)


async def test_a_deleted_service_gives_its_address_back(store: Store) -> None:
    addresses = ServiceAddresses(store, "10.96.0.0/16", lambda size: 0, Clock())
    service = a_service()
    addresses.complete(service, None)
    record = await store.write(KEY, None, lambda revision: msgspec.json.encode(service))
    with pytest.raises(StatusError, match="already allocated"):
        addresses.complete(a_service(), None)
    await store.delete(KEY, record, lambda revision: record.body)
    addresses.complete(a_service(), None)
