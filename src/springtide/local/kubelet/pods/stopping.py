# SPDX-License-Identifier: Apache-2.0
"""Stopping containers and sandboxes: the announcement, the preStop hook, the signal, and the cleanup on disk."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace

from springtide.kube.resources import Obj
from springtide.local.kubelet.dependencies import Dependencies
from springtide.local.kubelet.pods import hooks
from springtide.local.kubelet.pods.actions import BeginStop, SignalStop
from springtide.local.kubelet.pods.local_pods import LocalPod
from springtide.local.kubelet.pods.observed import Stop
from springtide.local.kubelet.pods.tasks import Tasks
from springtide.local.kubelet.specs import pod_specs
from springtide.local.pod_logs import keeping
from springtide.local.runtime.shim_client import NO_ANSWER, ShimError

logger = logging.getLogger(__name__)


class Stopper:
    def __init__(self, deps: Dependencies, tasks: Tasks) -> None:
        self._deps = deps
        self._tasks = tasks

    def begin(self, pod: LocalPod, action: BeginStop) -> None:
        again = action.name in pod.stops and pod.stops[action.name].attempt == action.attempt
        container = pod_specs.container_of(pod.obj, action.name) or {}
        handler = pod_specs.hook_of(container, "preStop") if action.grace > 0 and not again else None
        pod.stops[action.name] = Stop(action.attempt, self._deps.clock(), action.grace, handler is not None)
        if not again:
            self._deps.announce(pod, action.name, "Killing", action.message, kind="Normal")
        if handler is not None:
            self._tasks.start(pod.uid, self._pre_stop(pod, container, handler, action), "preStop")

    async def _pre_stop(self, pod: LocalPod, container: Obj, handler: Obj, action: BeginStop) -> None:
        try:
            await asyncio.wait_for(hooks.run(handler, container, pod), action.grace)
        except TimeoutError:
            logger.info("the preStop hook of %s took all its grace", action.name)
            self._deps.announce(pod, action.name, "FailedPreStopHook", "PreStopHook failed")
        except hooks.HookError as error:
            logger.info("%s", error)
            self._deps.announce(pod, action.name, "FailedPreStopHook", "PreStopHook failed")
        finally:
            stop = pod.stops.get(action.name)
            if stop is not None and stop.attempt == action.attempt:
                pod.stops[action.name] = replace(stop, hook_running=False)
            self._deps.wake(pod.uid, 0)

    async def signal(self, pod: LocalPod, action: SignalStop) -> None:
        stop, shim = pod.stops[action.name], pod.shim
        if shim is None:
            return
        container = pod_specs.container_of(pod.obj, action.name) or {}
        try:
            await shim.stop(action.name, action.grace, pod_specs.stop_signal_of(container))
        except ShimError as error:
            self._deps.announce(pod, "", "FailedKillPod", f"error killing pod: {error}")
            if error.reason == NO_ANSWER:
                shim.kill()
            self._deps.wake(pod.uid, 1)
            return
        pod.stops[action.name] = replace(stop, signalled=True)

    async def end_sandbox(self, pod: LocalPod) -> None:
        shim, pod.shim = pod.shim, None
        if shim is not None:
            with suppress(ShimError):  # the shim exited by itself just now
                await shim.end()
            shim.close()

    async def release(self, pod: LocalPod) -> None:
        """Release what an ended pod held; its logs and the states of its containers are kept."""
        self._deps.addresses.release(pod.uid)
        self._deps.devices.release(pod.uid)
        await self._deps.bodies.remove(pod.obj)

    async def forget(self, pod: LocalPod) -> None:
        """Remove everything of the pod from this node, but the logs that are kept."""
        self._tasks.cancel(pod.uid)
        await self._deps.bodies.remove(pod.obj)
        await asyncio.to_thread(keeping.keep, self._deps.facts.data_dir, pod.logs)
        await asyncio.to_thread(self._deps.runtime.discard, pod.directory)
        self._deps.pods.remove(pod.uid)
