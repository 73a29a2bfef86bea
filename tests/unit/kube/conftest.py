# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from tests.unit.kube.fake_api import FakeApi

from springtide.kube.client import Client


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()


@pytest.fixture
def client(api: FakeApi) -> Client:
    return Client(api)
