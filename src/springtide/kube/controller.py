# SPDX-License-Identifier: Apache-2.0
"""The loop around a reconcile function: keys in, calls out, failures retried.

    async def reconcile(key: Key) -> Result | None: ...

    jobs = Controller("job", reconcile, workers=4)
    jobs.watches(informers.of(JOBS))
    jobs.watches(informers.of(PODS), keys=owned_by(JOBS))
    await run(informers, [jobs])

A reconcile function looks at what is, not at what happened, and may be called at any time, also twice. What it says:

- returns None: this key is well;
- returns Result(requeue_after=s): look again in s seconds even if nothing changes;
- raises Retry(after): not yet; look again later, without an outcry in the log;
- raises Terminal: hopeless until the object changes; logged, not retried;
- raises an ApiError that time may heal (Conflict, Unreachable ...): retried with back-off, one line in the log;
- raises anything else: a mistake of ours; logged with its traceback and retried with back-off.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from springtide.kube import errors
from springtide.kube.informer import Informer, Informers
from springtide.kube.resources import Key, Resource
from springtide.kube.workqueue import Backoff, ShutDown, WorkQueue

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
logger = logging.getLogger(__name__)

GRACE = 10.0
"""Seconds that reconciles under way get to finish when the controller is stopped."""


@dataclass(frozen=True, slots=True)
class Result:
    requeue_after: float | None = None


class Retry(Exception):
    """Not now. `after` is in seconds; without it the key's back-off decides."""

    def __init__(self, why: str = "", after: float | None = None) -> None:
        super().__init__(why)
        self.after = after


class Terminal(Exception):
    """Trying again will not help until the object itself changes."""


Reconcile = Callable[[K], Awaitable[Result | None]]

_PASSING = (
    errors.NotFound,  # deleted between our look and our deed
    errors.Forbidden,  # a quota, or a namespace on its way out
    errors.Conflict,
    errors.AlreadyExists,
    errors.TooManyRequests,
    errors.ServerError,
    errors.Unreachable,
)


class Controller(Generic[K]):
    def __init__(self, name: str, reconcile: Reconcile[K], *, workers: int = 1, backoff: Backoff | None = None) -> None:
        self.name = name
        self.queue: WorkQueue[K] = WorkQueue(backoff or Backoff())
        self._reconcile = reconcile
        self._workers = workers
        self._informers: list[Informer[Any]] = []

    def watches(self, informer: Informer[T], keys: Callable[[T], Iterable[K]] | None = None) -> None:
        """Reconcile the informer's own keys, or those that `keys` finds for its objects, whenever one changes."""
        self._informers.append(informer)
        informer.on_change(self.queue.add, keys)

    def reads(self, informer: Informer[Any]) -> None:
        """Do not begin before this informer is synced, although its changes cause nothing."""
        self._informers.append(informer)

    def enqueue(self, key: K, after: float = 0.0) -> None:
        self.queue.add_after(key, after)

    async def run(self) -> None:
        """Until `stop`, or until cancelled. In both cases reconciles under way get `GRACE` seconds to finish."""
        for informer in self._informers:
            await informer.wait_synced()
        names = (f"{self.name} worker {number}" for number in range(self._workers))
        workers = [asyncio.create_task(self._work(), name=name) for name in names]
        try:
            # Unlike gather, this does not pass a cancellation on to reconciles under way.
            await asyncio.wait(workers)
        finally:
            self.queue.shut_down(drain=False)
            await _finish(workers)

    def stop(self) -> None:
        """Take no more keys in. `run` returns when those that wait have been dealt with."""
        self.queue.shut_down()

    async def _work(self) -> None:
        while True:
            try:
                key = await self.queue.get()
            except ShutDown:
                return
            try:
                await self._attempt(key)
            finally:
                self.queue.done(key)

    async def _attempt(self, key: K) -> None:
        try:
            result = await self._reconcile(key)
        except Retry as retry:
            logger.debug("%s %s: trying again later: %s", self.name, key, retry)
            self._retry(key, retry.after)
        except Terminal as error:
            logger.error("%s %s: giving up until it changes: %s", self.name, key, error)
            self.queue.forget(key)
        except _PASSING as error:
            logger.info("%s %s: trying again: %s", self.name, key, error)
            self._retry(key, error.retry_after)
        except Exception:
            # The outermost loop: whatever one key's reconcile does must not stop all the others.
            delay = self.queue.retry(key)
            logger.exception("%s %s: failed, trying again in %.3g s", self.name, key, delay)
        else:
            self.queue.forget(key)
            if result is not None and result.requeue_after is not None:
                self.queue.add_after(key, result.requeue_after)

    def _retry(self, key: K, after: float | None) -> None:
        if after is None:
            self.queue.retry(key)
        else:
            self.queue.add_after(key, after)


async def _finish(workers: Sequence[asyncio.Task[None]]) -> None:
    """Let them finish what they are at; cancel those that take too long."""
    _, late = await asyncio.wait(workers, timeout=GRACE)
    for worker in late:
        worker.cancel()
    await asyncio.gather(*workers, return_exceptions=True)


async def run(informers: Informers, controllers: Iterable[Controller[Any]]) -> None:
    """Run a process's informers and controllers together until cancelled or until one of them breaks."""
    async with asyncio.TaskGroup() as group:
        group.create_task(informers.run(), name="informers")
        for controller in controllers:
            group.create_task(controller.run(), name=f"controller {controller.name}")


def owned_by(resource: Resource) -> Callable[[Mapping[str, Any]], list[Key]]:
    """A `keys` function for plain objects: the key of the managing owner, if that is one of `resource`."""

    def keys(obj: Mapping[str, Any]) -> list[Key]:
        metadata = obj["metadata"]
        namespace = metadata.get("namespace", "") if resource.namespaced else ""
        return [
            Key(namespace, owner["name"])
            for owner in metadata.get("ownerReferences") or ()
            if owner.get("controller") and owner["kind"] == resource.kind and _group(owner) == resource.group
        ]

    return keys


def _group(owner: Mapping[str, Any]) -> str:
    group, slash, _ = str(owner["apiVersion"]).rpartition("/")
    return group if slash else ""
