# SPDX-License-Identifier: Apache-2.0
"""Forwards a port of this machine to the TensorBoard of a job, until the job is deleted.

The port answers as soon as TensorBoard does, and again when its pod was replaced by another one. Nobody watches a
process in the background: it ends by itself when the Deployment is gone, when the cluster has not answered for
`_PATIENCE`, and when the user has lost the right to ask.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple, Protocol

from springtide.cli.jobs.tensorboard.tensorboards import Deployed, is_there
from springtide.kube import errors, port_forward
from springtide.kube.client import Client
from springtide.kube.request import Scope
from springtide.kube.resources import DEPLOYMENTS, PODS, Key, Obj
from springtide.messages import Text
from springtide.views import tensorboards

_LOOK_AGAIN: Final = 1.0
_LOOK_AGAIN_AT_ONE_THAT_ANSWERS: Final = 5.0
_PATIENCE: Final = 30.0
"""Seconds without an answer of the cluster: a server may be started anew."""
_PATIENCE_WITH_PAGE: Final = 10.0
_LAST: Final = (errors.Unauthorized, errors.Forbidden)


class Told(Protocol):
    def listening(self, port: int) -> None:
        """Before TensorBoard answers."""

    def waits(self, why: Text, *, needs_help: bool) -> None: ...

    def answers(self) -> None: ...


class _Seen(NamedTuple):
    pods: list[Obj]
    serving: str
    """The uid of the pod; empty if there is none."""


async def forward(client: Client, board: Deployed, port: int, told: Told) -> None:
    """Until TensorBoard is gone, or the cluster: ApiError. `port` 0 is any that is free; OSError if it is taken."""
    # A connection that cannot be forwarded is what `told` hears of anyway, in plain words.
    logging.getLogger(port_forward.__name__).setLevel(logging.ERROR)

    async def pod() -> Key:
        found = tensorboards.serving(await _pods(client, board))
        if found is None:
            raise errors.NotFound("TensorBoard has no pod that is ready")
        return Key.of(found)

    async with port_forward.forwarding(client, pod, tensorboards.PORT, local_port=port) as local:
        told.listening(local)
        await until_gone(client, board, lambda: _answers(local), told)


async def until_gone(client: Client, board: Deployed, answers: Callable[[], Awaitable[bool]], told: Told) -> None:
    """Tells what happens to it."""
    loop = asyncio.get_running_loop()
    answered, shown = loop.time(), ""
    while True:
        try:
            async with asyncio.timeout(_PATIENCE):
                seen = await _seen(client, board)
        except _LAST:
            raise
        except (errors.ApiError, TimeoutError) as error:
            if loop.time() - answered > _PATIENCE:
                raise _as_unreachable(error) from None
            await asyncio.sleep(_LOOK_AGAIN)
            continue
        if seen is None:
            return
        answered = loop.time()
        if seen.serving and (seen.serving == shown or await answers()):
            if seen.serving != shown:
                told.answers()
            shown = seen.serving
            await asyncio.sleep(_LOOK_AGAIN_AT_ONE_THAT_ANSWERS)
        else:
            told.waits(tensorboards.waits(seen.pods), needs_help=tensorboards.needs_help(seen.pods))
            shown = ""
            await asyncio.sleep(_LOOK_AGAIN)


async def _seen(client: Client, board: Deployed) -> _Seen | None:
    """None if the Deployment is gone, or another one has its name."""
    deployment = await client.find(DEPLOYMENTS, board.key)
    if deployment is None or deployment["metadata"]["uid"] != board.uid or not is_there(deployment):
        return None
    pods = await _pods(client, board)
    pod = tensorboards.serving(pods)
    return _Seen(pods, str(pod["metadata"]["uid"]) if pod else "")


async def _pods(client: Client, board: Deployed) -> list[Obj]:
    return (await client.list(PODS, Scope(board.key.namespace, labels=tensorboards.selector(board.job)))).items


async def _answers(port: int) -> bool:
    """Whether there is a page: a pod without a probe is ready long before."""
    try:
        async with asyncio.timeout(_PATIENCE_WITH_PAGE):
            reader, writer = await asyncio.open_connection(port_forward.LOOPBACK, port)
            try:
                writer.write(b"GET / HTTP/1.0\r\n\r\n")
                return (await reader.readline()).startswith(b"HTTP/")
            finally:
                writer.close()
    except OSError:
        return False


def _as_unreachable(error: errors.ApiError | TimeoutError) -> errors.ApiError:
    return error if isinstance(error, errors.ApiError) else errors.Unreachable("it does not answer")
