# SPDX-License-Identifier: Apache-2.0
"""`python -m springtide.local.kubelet`: the node agent as a process of its own.

SIGTERM and SIGINT end it and leave its pods running; SIGUSR1 ends its pods within their grace first.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from springtide.local.kubelet.agent import Options, connected

_RARELY = 50_000
"""New objects between two looks for garbage: most of what an agent makes lives as long as its pods."""


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    gc.set_threshold(_RARELY, 20, 50)
    with suppress(asyncio.CancelledError):
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
    loop, ending = asyncio.get_running_loop(), asyncio.Event()
    closing = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ending.set)
    loop.add_signal_handler(signal.SIGUSR1, closing.set)
    async with connected(options) as agent:
        running = asyncio.create_task(agent.run(), name="agent")
        waits = [asyncio.create_task(event.wait()) for event in (ending, closing)]
        await asyncio.wait([running, *waits], return_when=asyncio.FIRST_COMPLETED)
        if closing.is_set() and not running.done():
            await _first(running, asyncio.create_task(agent.end_pods()), waits[0])
        for task in (running, *waits):
            task.cancel()
        await running


async def _first(*tasks: asyncio.Task[object]) -> None:
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)


if __name__ == "__main__":
    main()
