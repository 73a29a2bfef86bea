# SPDX-License-Identifier: Apache-2.0
"""`python -m springtide.local.kubelet`: the node agent as a process of its own.

SIGTERM and SIGINT end it and leave its pods running; SIGUSR1 ends its pods within their grace periods first.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import signal
import sys
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any

from springtide.local.kubelet.agent import Agent, Options, connected
from springtide.local.kubelet.node import file_lock

logger = logging.getLogger(__name__)

_PREDECESSOR = 10.0
"""Seconds to wait for the exit of an earlier agent, whose supervisor was killed."""
_SETTLING = 3.0
"""Seconds that an agent asked to end its pods may still take to find them."""
_RARELY = 50_000
"""New objects between two garbage collections: most objects of an agent live as long as its pods."""


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    gc.set_threshold(_RARELY, 20, 50)
    try:
        file_lock.take(options.data_dir / "nodes" / options.node / "agent.lock", _PREDECESSOR)
    except file_lock.TakenError:
        sys.exit(f"node {options.node} of {options.data_dir} has an agent already")
    asyncio.run(_main(options))


def _options(arguments: Sequence[str] | None) -> Options:
    parser = argparse.ArgumentParser(prog="python -m springtide.local.kubelet", description="A node agent.")
    parser.add_argument("--node", required=True)
    for name in ("data-dir", "kubeconfig", "certificate", "key", "client-ca"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--isolation", choices=("namespaces", "none"), default="namespaces")
    parser.add_argument("--fake-gpus", type=int, default=None)
    parser.add_argument(
        "--strict-resources", action="store_true", help="known to all processes; the scheduler acts on it"
    )
    given = vars(parser.parse_args(arguments))
    del given["strict_resources"]
    return Options(**given)


async def _main(options: Options) -> None:
    loop, ending, closing = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ending.set)
    loop.add_signal_handler(signal.SIGUSR1, closing.set)
    settled: asyncio.Future[Agent] = loop.create_future()
    await _first(_live(options, settled), ending.wait(), _close(closing, settled))


async def _live(options: Options, settled: asyncio.Future[Agent]) -> None:
    async with connected(options) as agent:
        await agent.run(lambda: settled.set_result(agent))


async def _close(closing: asyncio.Event, settled: asyncio.Future[Agent]) -> None:
    """On SIGUSR1, end all pods. An agent that cannot reach the server knows none; then its supervisor kills them."""
    await closing.wait()
    try:
        agent = await asyncio.wait_for(asyncio.shield(settled), _SETTLING)
    except TimeoutError:
        logger.warning("cannot list pods without the API server; the supervisor kills them")
        return
    await agent.end_pods()


async def _first(*works: Coroutine[Any, Any, object]) -> None:
    """Wait until one of them is done and cancel the others; exceptions are raised."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
    for result in results:
        if isinstance(result, Exception):
            raise result


if __name__ == "__main__":
    main()
