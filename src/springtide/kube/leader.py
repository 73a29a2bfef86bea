# SPDX-License-Identifier: Apache-2.0
"""Leader election by a Lease object, compatible with every Kubernetes client.

    elector = LeaderElector(client, Key("springtide", "operator"), identity="host-1_7f3a")
    await elector.run(lead)        # waits to be elected, then awaits lead(); cancels it when the lease is lost

Clocks of different machines are never compared. A candidate measures, on its own monotonic clock, how long the lease
has not changed; the times in the lease are for users. A leader that has not renewed for `renew_deadline` steps down,
before another may take over after `duration`. This prevents two leaders as long as clocks run at about the same rate;
it is no fence against a process that was suspended in between.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.resources import LEASES, Key, Obj

logger = logging.getLogger(__name__)

JITTER = 1.2
"""Candidates wait up to this many retry periods longer than one, so that they do not all ask at the same moment."""


class LeadershipLost(Exception):
    """The lease was not renewed in time, or another process holds it: `lead` has been cancelled."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Seconds. `duration` > `renew_deadline` > `retry`."""

    duration: int = 15
    renew_deadline: float = 10.0
    retry: float = 2.0

    def __post_init__(self) -> None:
        if not self.duration > self.renew_deadline > self.retry > 0:
            raise ValueError("leader election needs duration > renew_deadline > retry > 0")


def _wall_clock() -> datetime:
    return datetime.now(UTC)


class LeaderElector:
    def __init__(
        self,
        client: Client,
        lease: Key,
        identity: str,
        terms: Terms | None = None,
        clock: Callable[[], datetime] = _wall_clock,
    ) -> None:
        """`identity` must be unique among candidates, also after a restart on the same host."""
        self.identity = identity
        self._client = client
        self._key = lease
        self._terms = terms or Terms()
        self._clock = clock
        self._lease: Obj | None = None
        """As last seen; its resourceVersion makes our writes conditional on no change since."""
        self._changed = 0.0
        """Monotonic time of the last observed change of the lease."""

    @property
    def leader(self) -> str:
        """The holder of the lease when it was last seen; empty if there was none."""
        return str(self._spec.get("holderIdentity") or "")

    @property
    def leading(self) -> bool:
        return self.leader == self.identity

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Wait to be elected, lead until `lead` returns, then release the lease.

        LeadershipLost if the lease is lost before that. On cancellation, stops leading and releases the lease first.
        """
        await self._acquire()
        logger.info("%s now leads %s", self.identity, self._key)
        leading = asyncio.ensure_future(lead())
        renewing = asyncio.create_task(self._renew(), name=f"renewing {self._key}")
        try:
            await asyncio.wait((leading, renewing), return_when=asyncio.FIRST_COMPLETED)
        finally:
            lost = renewing.done()
            await _cancelled(renewing)
            await _cancelled(leading)
            await self._release()
        if lost or leading.cancelled():
            raise LeadershipLost(f"{self.identity} no longer leads {self._key}")
        leading.result()

    async def _acquire(self) -> None:
        while True:
            if await self._attempt(self._terms.renew_deadline):
                return
            await asyncio.sleep(self._terms.retry * (1 + random.random() * JITTER))

    async def _renew(self) -> None:
        """Returns when the lease is lost."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._terms.renew_deadline
        while True:
            await asyncio.sleep(min(self._terms.retry, max(0.0, deadline - loop.time())))
            if await self._attempt(max(0.0, deadline - loop.time())):
                deadline = loop.time() + self._terms.renew_deadline
            elif loop.time() >= deadline or not self.leading:
                logger.warning("%s could not renew its lease %s", self.identity, self._key)
                return

    async def _attempt(self, patience: float) -> bool:
        """Try once to take or renew the lease; returns whether we have it now."""
        try:
            async with asyncio.timeout(patience):
                return await self._take_or_renew()
        except (errors.Conflict, errors.AlreadyExists):
            # Another candidate was faster. Our version is outdated, so the next attempt reads first.
            self._forget_version()
            return False
        except (errors.ApiError, TimeoutError) as error:
            logger.warning("Cannot take or renew the lease %s: %s", self._key, error or "no answer in time")
            self._forget_version()
            return False

    async def _take_or_renew(self) -> bool:
        if not (self.leading and self._has_version()):
            found = await self._client.find(LEASES, self._key)
            if found is None:
                self._observe(
                    await self._client.create(LEASES, LEASES.describe(self._key) | {"spec": self._new_spec()})
                )
                return True
            self._observe(found)
            if self.leader and not self.leading and not self._run_out():
                return False
        assert self._lease is not None  # read or written above, or we would not be leading
        self._observe(await self._client.replace(LEASES, self._lease | {"spec": self._new_spec()}))
        return True

    async def _release(self) -> None:
        """Release the lease at once, so that others need not wait for its expiry. Best effort."""
        if not (self.leading and self._has_version()):
            return
        assert self._lease is not None
        spec = self._new_spec() | {"holderIdentity": "", "leaseDurationSeconds": 1}
        try:
            async with asyncio.timeout(self._terms.retry):
                self._observe(await self._client.replace(LEASES, self._lease | {"spec": spec}))
        except (errors.ApiError, TimeoutError) as error:
            logger.info("Could not release the lease %s; it will expire: %s", self._key, error)

    @property
    def _spec(self) -> dict[str, Any]:
        return (self._lease or {}).get("spec") or {}

    def _observe(self, lease: Obj) -> None:
        if self._lease is None or (lease.get("spec") or {}) != self._spec:
            self._changed = asyncio.get_running_loop().time()
        self._lease = lease

    def _run_out(self) -> bool:
        age = asyncio.get_running_loop().time() - self._changed
        return age >= float(self._spec.get("leaseDurationSeconds") or 0)

    def _new_spec(self) -> dict[str, Any]:
        now = self._clock().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        old = self._spec
        transitions = int(old.get("leaseTransitions") or 0)
        ours = self.leading
        return {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": self._terms.duration,
            "acquireTime": (old.get("acquireTime") if ours else None) or now,
            "renewTime": now,
            "leaseTransitions": transitions if ours or self._lease is None else transitions + 1,
        }

    def _has_version(self) -> bool:
        return self._lease is not None and "resourceVersion" in self._lease["metadata"]

    def _forget_version(self) -> None:
        if self._lease is not None:
            metadata = {name: value for name, value in self._lease["metadata"].items() if name != "resourceVersion"}
            self._lease = self._lease | {"metadata": metadata}


async def _cancelled(task: asyncio.Future[None]) -> None:
    """Cancel a task and wait until it has ended; its own error, if any, is left to callers of `result`."""
    task.cancel()
    await asyncio.wait((task,))
