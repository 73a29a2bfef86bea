# SPDX-License-Identifier: Apache-2.0
"""`tiderun`: runs a program on many hosts, and resizes it while it trains.

tiderun ── coordinator
   │ /etc/mpi/kubexec.sh, ssh, or a local process
   ▼ for every slot
agent ──► rank (the program)
"""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import sys
from typing import Any, NoReturn

from springtide.elastic.launcher import descriptors, options
from springtide.elastic.launcher.coordinator import Coordinator
from springtide.elastic.launcher.discovery import Discovery, DiscoveryError
from springtide.elastic.launcher.options import Options
from springtide.elastic.launcher.output import Output
from springtide.elastic.launcher.progress import AnnotationWriter, Pod
from springtide.elastic.shared import addresses
from springtide.elastic.shared.orphan_guard import OrphanGuard

_WRITTEN = 5.0
_ANNOTATED = 2.0


async def run(given: Options, output: Output, orphan_guard: OrphanGuard | None) -> int:
    annotation = AnnotationWriter(Pod.found(os.environ))
    coordinator = Coordinator(given, output, annotation)
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, surprise: output.tell(_told(surprise)))
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # by nohup, for instance
            loop.add_signal_handler(number, coordinator.interrupted, number)
    beside = [loop.create_task(annotation.run()), loop.create_task(_list(given, coordinator, output, orphan_guard))]
    beside[1].add_done_callback(coordinator.watch)
    try:
        code = await coordinator.serve()
        await annotation.last(_ANNOTATED)
        return code
    finally:
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)


def _told(surprise: dict[str, Any]) -> str:
    """An error that no code handles, such as that the system has no descriptors left."""
    error = surprise.get("exception")
    return surprise["message"] if error is None else f"{surprise['message']}: {error!r}"


async def _list(given: Options, coordinator: Coordinator, output: Output, orphan_guard: OrphanGuard | None) -> None:
    if given.script is None or orphan_guard is None:
        coordinator.listed(dict(given.hosts))
        return
    async for found in Discovery(given.script, given.slots_per_host, orphan_guard).changes():
        if isinstance(found, DiscoveryError) and found.missing and not coordinator.run_state.listing:
            coordinator.fail(f"{found}; no hosts were ever named")
        elif isinstance(found, DiscoveryError):
            output.tell(f"{found}; the hosts stay as they were, and it is asked again")
        else:
            coordinator.listed(found)


async def _to_the_end(given: Options, output: Output, orphan_guard: OrphanGuard | None) -> NoReturn:
    """Exits without waiting for threads: one may be blocked by output that is not read, or by a DNS lookup."""
    code = await run(given, output, orphan_guard)
    output.close(_WRITTEN)
    os._exit(code)


def _check(given: Options) -> None:
    """OSError where an interface, a folder or the working directory does not exist or cannot be used."""
    if missing := addresses.unknown(given.interfaces):
        raise OSError(f"--network-interface: there is no {missing[0]} on this machine")
    if given.output is not None:
        try:
            given.output.mkdir(parents=True, exist_ok=True)
            if not os.access(given.output, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        except OSError as error:
            raise OSError(f"--output-filename: {given.output}: {error.strerror}") from error
    try:
        os.getcwd()
    except OSError as error:
        raise OSError(f"the directory that it was started in: {error.strerror}") from error


def main(program: str = options.TIDERUN) -> None:
    given = options.read(sys.argv[1:], os.environ, program)
    try:
        _check(given)
    except OSError as error:
        print(f"{program}: {error}", file=sys.stderr)
        sys.exit(2)
    descriptors.claim()
    orphan_guard = (
        OrphanGuard() if given.script is not None else None
    )  # a child process, started before there are threads
    output = Output(given.output, timestamps=given.timestamps)
    try:
        asyncio.run(_to_the_end(given, output, orphan_guard))
    finally:
        output.close(_WRITTEN)
