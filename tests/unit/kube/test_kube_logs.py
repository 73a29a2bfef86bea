# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from tests.unit.kube.fake_api import FakeApi, answer, status

from springtide.kube import logs
from springtide.kube.client import Client
from springtide.kube.logs import LogOptions
from springtide.kube.resources import Key

KEY = Key("team", "w-0")


@pytest.mark.parametrize(
    ("options", "query"),
    [
        (LogOptions(), ""),
        (LogOptions("main", follow=True, timestamps=True), "?container=main&follow=true&timestamps=true"),
        (LogOptions(previous=True, tail=0, since_seconds=5), "?previous=true&tailLines=0&sinceSeconds=5"),
        (LogOptions(since_time="2026-01-01T00:00:00Z"), "?sinceTime=2026-01-01T00%3A00%3A00Z"),
    ],
)
def test_options_are_those_of_the_api(options: LogOptions, query: str) -> None:
    assert logs.log(KEY, options).target == f"/api/v1/namespaces/team/pods/w-0/log{query}"
    kept = "/apis/logs.springtide.dev/v1alpha1/namespaces/team/podlogs/w-0/log"
    assert logs.kept_log(KEY, options).target == kept + query


async def test_kept_logs_are_listed_by_label() -> None:
    api = FakeApi()
    api.answers = [answer({"items": [{"pod": "w-0"}]})]
    assert await logs.kept(Client(api), "team", "a=b") == [{"pod": "w-0"}]
    assert api.requests[-1].target == "/apis/logs.springtide.dev/v1alpha1/namespaces/team/podlogs?labelSelector=a%3Db"


@pytest.mark.parametrize("code", [403, 404])
async def test_other_servers_keep_none(code: int) -> None:
    api = FakeApi()
    api.answers = [status(code, "Forbidden" if code == 403 else "NotFound")]
    assert await logs.kept(Client(api), "team") == []
