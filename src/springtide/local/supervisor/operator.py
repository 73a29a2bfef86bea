# SPDX-License-Identifier: Apache-2.0
"""The operator process: `tide operator` as a child of the supervisor, restarted when it dies.

The operator uses only a kubeconfig and may be killed at any moment. It holds the lock in its directory, through an
inherited file descriptor, so that other processes can see whether it runs and its process id.
"""

from __future__ import annotations

import signal
from asyncio.subprocess import Process

from springtide.local.datadir import DataDir, InUseError
from springtide.local.supervisor import credentials, log_files
from springtide.local.supervisor.processes import Kept, leashed

_MODULE = "springtide.cli"
_PATIENCE = 5.0
"""Seconds before it is killed; it exits in a fraction of one."""


class Operator:
    def __init__(self, directory: DataDir, server: str) -> None:
        self._directory, self._server = directory, server
        self._kept = Kept("the operator", self._launch)

    async def end(self) -> None:
        await self._kept.end(signal.SIGTERM, _PATIENCE)

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
                process = await leashed(_MODULE, arguments, log=log, pass_fds=(lock.fileno(),))
            lock.leave_to(process.pid)
        except InUseError:
            raise BlockingIOError("the one before it is still there") from None  # and it is tried again
        finally:
            lock.release()
        return process
