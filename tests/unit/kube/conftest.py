# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio

import pytest
from tests.unit.kube.fake_api import FakeApi

from springtide.kube.client import Client

# The looptime plugin asks for the current event loop even around synchronous tests. If none was ever set, Python 3.11
# makes one that nobody closes, and the warning about it hits whichever test runs when it is collected.
asyncio.set_event_loop(None)


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()


@pytest.fixture
def client(api: FakeApi) -> Client:
    return Client(api)
