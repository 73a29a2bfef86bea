# SPDX-License-Identifier: Apache-2.0
"""The loop around a reconcile function: takes keys, calls the function, retries failures.

    async def reconcile(key: Key) -> Result | None: ...

    jobs = Controller("job", reconcile, workers=4)
    jobs.watches(informers.of(JOBS))
    jobs.watches(informers.of(PODS), keys=owned_by(JOBS))
    await run(informers, [jobs])

A reconcile function is level-triggered: it looks at the state, not at changes, and may be called at any time, also
twice. Its outcomes:

- returns None: nothing to do for this key;
- returns Result(requeue_after=s): reconcile again in s seconds even if nothing changes;
- raises Retry(after): reconcile again later, logged at debug level only;
- raises Terminal: hopeless until the object changes; logged, not retried;
- raises an ApiError that may pass (Conflict, Unreachable ...): retried with back-off, one line in the log;
- raises any other exception: a bug; logged with its traceback and retried with back-off.
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
"""Seconds for reconciles under way to finish when the controller is stopped."""


@dataclass(frozen=True, slots=True)
class Result:
    requeue_after: float | None = None


class Retry(Exception):
    """Reconcile again later. `after` is in seconds; without it the key's back-off applies."""

    def __init__(self, why: str = "", after: float | None = None) -> None:
        super().__init__(why)
        self.after = after


class Terminal(Exception):
    """A retry cannot help until the object itself changes."""


Reconcile = Callable[[K], Awaitable[Result | None]]

_PASSING = (
    errors.NotFound,  # deleted between the read and the write
    errors.Forbidden,  # a quota, or a namespace that is being deleted
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
        """Reconcile the informer's own keys, or those that `keys` returns for its objects, whenever an object
        changes."""
        self._informers.append(informer)
        informer.on_change(self.queue.add, keys)

    def reads(self, informer: Informer[Any]) -> None:
        """Wait for this informer's sync before starting; its changes trigger nothing."""
        self._informers.append(informer)

    def enqueue(self, key: K, after: float = 0.0) -> None:
        self.queue.add_after(key, after)

    async def run(self) -> None:
        """Runs until `stop`, or until cancelled. In both cases reconciles under way have `GRACE` seconds to finish."""
        for informer in self._informers:
            await informer.wait_synced()
        names = (f"{self.name} worker {number}" for number in range(self._workers))
        workers = [asyncio.create_task(self._work(), name=name) for name in names]
        try:
            # Unlike gather, this does not cancel reconciles under way.
            await asyncio.wait(workers)
        finally:
            self.queue.shut_down(drain=False)
            await _finish(workers)

    def stop(self) -> None:
        """Accept no more keys. `run` returns once the queued ones have been reconciled."""
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
            # The outermost loop: an error for one key must not stop all others.
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
    """Wait for reconciles under way; cancel those that take too long."""
    _, late = await asyncio.wait(workers, timeout=GRACE)
    for worker in late:
        worker.cancel()
    await asyncio.gather(*workers, return_exceptions=True)


async def run(informers: Informers, controllers: Iterable[Controller[Any]]) -> None:
    """Run a process's informers and controllers together until cancelled or until one of them fails."""
    async with asyncio.TaskGroup() as group:
        group.create_task(informers.run(), name="informers")
        for controller in controllers:
            group.create_task(controller.run(), name=f"controller {controller.name}")


def owned_by(resource: Resource) -> Callable[[Mapping[str, Any]], list[Key]]:
    """A `keys` function for plain objects: the key of the controlling owner, if it is one of `resource`."""

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
