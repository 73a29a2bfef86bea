# SPDX-License-Identifier: Apache-2.0
"""The operator process: `tide operator` as a child of the supervisor, restarted when it dies.

The operator uses only a kubeconfig and may be killed at any moment. It holds the lock in its directory, through an
inherited file descriptor, so that other processes can see whether it runs and its process id. A record of its
processes is kept for the mirror pods by which `kubectl logs` shows its log (see `kubelet.mirror_pods`).
"""

from __future__ import annotations

import contextlib
import logging
import signal
import time
from asyncio.subprocess import Process
from collections.abc import Iterator

from springtide.local.datadir import DataDir, InUseError
from springtide.local.kubelet.mirror_pods import records
from springtide.local.kubelet.mirror_pods.records import LogPart
from springtide.local.supervisor import credentials, log_files
from springtide.local.supervisor.processes import Kept, leashed

logger = logging.getLogger(__name__)

_MODULE = "springtide.cli"
_PATIENCE = 5.0
"""Seconds before it is killed; it exits in a fraction of one."""


class Operator:
    def __init__(self, directory: DataDir, server: str) -> None:
        self._directory, self._server = directory, server
        self._kept = Kept("the operator", self._launch, self._died)

    async def end(self) -> None:
        await self._kept.end(signal.SIGTERM, _PATIENCE)
        note_end(self._directory, 0)

    async def _launch(self) -> Process:
        kubeconfig = credentials.make_operator_s(self._directory, self._server)
        # There is only one: the supervisor holds the cluster's lock, and its children end with it.
        arguments = ["operator", "--kubeconfig", str(kubeconfig), "--no-leader-elect", "--webhook-port", "0"]
        # The defaults of these are variables, which the shell of `tide up` may have for another cluster.
        arguments += ["--namespace", "", "--cluster-domain", ""]
        lock = self._directory.operator_lock
        try:
            lock.acquire(0.0, unsigned=True)
            with log_files.opened(self._directory.operator_log) as log:
                part = records.part_from_here(log.fileno())
                process = await leashed(_MODULE, arguments, log=log, pass_fds=(lock.fileno(),))
            lock.leave_to(process.pid)
            self._note_start(process.pid, part)
        except InUseError:
            raise BlockingIOError("the one before it is still there") from None  # and it is tried again
        finally:
            lock.release()
        return process

    async def _died(self, code: int) -> None:
        note_end(self._directory, code)

    def _note_start(self, pid: int, part: LogPart) -> None:
        with _tolerated():
            records.write(self._directory, records.started(records.read(self._directory), pid, part, time.time()))


def note_end(directory: DataDir, code: int | None) -> None:
    """Record that the operator's process has exited; `code` is None where nobody knows its exit status."""
    with _tolerated():
        record = records.read(directory)
        if record is None or not record.runs:
            return
        path = records.log_file(directory, record.log)
        end = path.stat().st_size if path is not None else record.log.start
        records.write(directory, records.ended(record, code, time.time(), end))


@contextlib.contextmanager
def _tolerated() -> Iterator[None]:
    """A record that cannot be written, on a full disk, must not keep the operator from running."""
    try:
        yield
    except OSError as error:
        logger.warning("the operator's mirror pods are not up to date: %s", error)
