# SPDX-License-Identifier: Apache-2.0
"""What is said of things that could not be made, and which failures are more than a note."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest
from tests.unit.kube.fake_api import answer, status

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.request import Request, Response
from springtide.local.supervisor import seeding


class Server:
    """Has everything, and answers as it is told to what is done to cluster roles."""

    def __init__(self, refusal: Response | None) -> None:
        self._refusal = refusal

    async def send(self, request: Request) -> Response:
        if "/clusterroles/" in request.path:
            if self._refusal is None:
                raise errors.Unreachable("nobody there")
            return self._refusal
        metadata = {"name": request.path.rpartition("/")[2]}
        return answer({"metadata": metadata, "status": {"conditions": [{"type": "Established", "status": "True"}]}})

    async def stream(self, request: Request) -> AsyncGenerator[bytes, None]:
        raise AssertionError("nobody watches here")
        yield b""

    async def close(self) -> None: ...


@pytest.mark.parametrize(
    "refusal",
    [
        status(500, "InternalError", 'failed calling webhook "mine":\nno answer'),
        status(403, "Forbidden", 'admission webhook "mine" denied the request: no answer'),
    ],
)
async def test_a_refusal_is_a_note_of_one_line(refusal: Response) -> None:
    (note,) = await seeding.seed(Client(Server(refusal)))
    assert note.startswith("the operator's rights could not be brought up to date; mend what is in the way")
    assert 'webhook "mine"' in note
    assert note.endswith(": no answer")


async def test_a_failure_of_the_server_is_more_than_a_note() -> None:
    with pytest.raises(errors.Unreachable):
        await seeding.seed(Client(Server(None)))
    with pytest.raises(errors.ServerError, match="disk is full"):
        await seeding.seed(Client(Server(status(507, "InsufficientStorage", "the cluster's disk is full"))))
