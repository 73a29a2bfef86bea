# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.request import Request, Response
from springtide.local.kubelet.tokens import TokenError, Tokens, Wanted

POD: dict[str, Any] = {
    "metadata": {"namespace": "team", "name": "p", "uid": "u"},
    "spec": {"serviceAccountName": "robot"},
}
HOUR = 3600.0


class Server:
    """Gives a new token each time it is asked, or nothing at all."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.away = False

    async def send(self, request: Request) -> Response:
        if self.away:
            raise errors.Unreachable("connection refused")
        body = msgspec.json.decode(request.body)
        self.asked.append((request.path, body["spec"]))
        expires = datetime.fromtimestamp(self.now + body["spec"]["expirationSeconds"], UTC)
        status = {"token": f"token {len(self.asked)}", "expirationTimestamp": expires.strftime("%Y-%m-%dT%H:%M:%SZ")}
        return Response(201, {}, msgspec.json.encode(body | {"status": status}))

    def stream(self, request: Request) -> Any:
        raise NotImplementedError

    async def close(self) -> None:
        return None


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def tokens(server: Server) -> Tokens:
    return Tokens(Client(server), lambda: server.now)


def wanted(**source: Any) -> Wanted:
    return Wanted.by(POD, source)


async def test_a_token_is_bound_to_its_pod(server: Server, tokens: Tokens) -> None:
    assert await tokens.get(wanted(audience="vault", expirationSeconds=7200)) == "token 1"
    assert server.asked == [
        (
            "/api/v1/namespaces/team/serviceaccounts/robot/token",
            {
                "audiences": ["vault"],
                "expirationSeconds": 7200,
                "boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"},
            },
        )
    ]


async def test_a_token_is_asked_for_once(server: Server, tokens: Tokens) -> None:
    assert await tokens.get(wanted()) == await tokens.get(wanted()) == "token 1"
    assert await tokens.get(wanted(audience="other")) == "token 2"


async def test_a_token_is_renewed_after_four_fifths_of_its_life(server: Server, tokens: Tokens) -> None:
    await tokens.get(wanted())
    server.now += 0.79 * HOUR
    assert tokens.due() == set()
    server.now += 0.02 * HOUR
    assert tokens.due() == {"u"}
    assert await tokens.get(wanted()) == "token 2"
    assert tokens.due() == set()


async def test_a_token_for_a_year_is_renewed_every_day(server: Server, tokens: Tokens) -> None:
    await tokens.get(wanted(expirationSeconds=365 * 24 * 3600))
    server.now += 24 * HOUR
    assert tokens.due() == {"u"}


async def test_an_old_token_is_good_while_the_server_is_away(server: Server, tokens: Tokens) -> None:
    await tokens.get(wanted())
    server.away = True
    server.now += 0.9 * HOUR
    assert await tokens.get(wanted()) == "token 1"
    server.now += 0.2 * HOUR
    with pytest.raises(TokenError, match="failed to fetch token: connection refused"):
        await tokens.get(wanted())


async def test_a_pods_tokens_go_with_it(server: Server, tokens: Tokens) -> None:
    await tokens.get(wanted())
    assert tokens
    tokens.forget("u")
    assert not tokens
    assert await tokens.get(wanted()) == "token 2"


async def test_a_clock_that_was_set_back_makes_a_new_token(server: Server, tokens: Tokens) -> None:
    """The old one is not valid before its time has come again."""
    await tokens.get(wanted())
    server.now -= 0.5
    assert not tokens.due()
    server.now -= HOUR
    assert tokens.due() == {"u"}
    assert await tokens.get(wanted()) == "token 2"
    assert not tokens.due()
