# SPDX-License-Identifier: Apache-2.0
"""The reconciler of pods: observe one pod, call `lifecycle.plan`, perform its actions, report.

Called with a pod's uid, never twice at a time for one pod, in parallel for different pods. Nothing here waits for a
container: long operations run in tasks of their own and requeue the pod when they are done.
"""

from __future__ import annotations

import asyncio

from springtide.api.mirror_pods import is_mirror
from springtide.kube.controller import Result, Retry
from springtide.kube.informer import Informer
from springtide.kube.resources import PODS, Obj
from springtide.local.kubelet.containers.bodies import NotReady
from springtide.local.kubelet.dependencies import Dependencies
from springtide.local.kubelet.pods import actions, interruptions, lifecycle, reporting
from springtide.local.kubelet.pods.actions import Action
from springtide.local.kubelet.pods.lifecycle import Ending
from springtide.local.kubelet.pods.local_pods import LocalPod
from springtide.local.kubelet.pods.observed import Failure
from springtide.local.kubelet.pods.starting import Starter
from springtide.local.kubelet.pods.stopping import Stopper
from springtide.local.kubelet.pods.tasks import Tasks
from springtide.local.kubelet.probes.prober import Prober
from springtide.local.kubelet.specs import pod_specs
from springtide.local.kubelet.status.moments import duration

ROUNDS = 100
"""Maximum of plans in one reconcile: more than any pod has containers, and a limit for a plan that loops."""
REFRESH_PAUSE = 1.0


class Sync:
    def __init__(self, deps: Dependencies, informer: Informer[Obj]) -> None:
        self._deps = deps
        self._informer = informer
        informer.add_index("uid", uids)
        self.tasks = Tasks()
        self._starter = Starter(deps, self.tasks)
        self._stopper = Stopper(deps, self.tasks)
        self._probers: dict[str, Prober] = {}
        self._late: set[str] = set()
        """Pods whose exceeded deadline was announced."""
        self._closing = False
        self._closed = asyncio.Event()
        """Set whenever a pod that is being closed was reconciled."""

    async def reconcile(self, uid: str) -> Result | None:
        pod = self._look(uid)
        if pod is None:
            return None
        if not pod.removed and not self._informer.where("uid", uid):
            await self._confirm_removal(pod)
        requeue: float | None = None
        for _ in range(ROUNDS):
            steps = lifecycle.plan(pod.obj, pod.observed(), self._deps.clock())
            requeue = min((step.seconds for step in steps if isinstance(step, actions.RequeueAfter)), default=None)
            moved = False
            for action in steps:
                moved |= await self._act(pod, action)
            if not moved:
                break
        if self._deps.pods.get(uid) is not None:
            self._watch(pod)
            await reporting.report(self._deps, pod)
            await self._refresh(pod)
        if pod.closing:
            self._closed.set()
        return None if requeue is None else Result(requeue)

    # Observing

    def _look(self, uid: str) -> LocalPod | None:
        """The pod, brought up to date; None when there is nothing to reconcile."""
        objects, pod = self._informer.where("uid", uid), self._deps.pods.get(uid)
        if not objects:
            return pod
        obj = objects[0]
        if pod is None:
            if (obj.get("status") or {}).get("phase") in pod_specs.TERMINAL and not pod_specs.is_deleted(obj):
                return None  # it ended here before, and nothing of it is left
            pod = self._admit(obj)
        if _described(obj) != _described(pod.obj):
            pod.stale = pod.nudged = True
        pod.obj = obj
        reported = obj.get("status") or {}
        if not pod.status or (
            reported.get("phase") in pod_specs.TERMINAL and pod.status["phase"] not in pod_specs.TERMINAL
        ):
            pod.status = reported  # first observation, or another client reported the end
        return pod

    async def _confirm_removal(self, pod: LocalPod) -> None:
        """Mark an unlisted pod as removed only when the server confirms that it does not exist: an unreadable object
        (damaged on disk) is not listed either. ApiError or Retry: to be retried."""
        if not pod_specs.is_deleted(pod.obj):
            found = await self._deps.client.find(PODS, pod.key)
            if found is not None and found["metadata"]["uid"] == pod.uid:
                raise Retry(f"pod {pod.key} is not listed, but it exists")
        pod.removed = True

    def _admit(self, obj: Obj) -> LocalPod:
        facts, metadata = self._deps.facts, obj["metadata"]
        logs = facts.log_directory(metadata["namespace"], metadata["name"], metadata["uid"])
        pod = LocalPod(obj, facts.pod_directory(metadata["uid"]), logs, facts.host_ip, closing=self._closing)
        self._deps.pods.add(pod)
        return pod

    def adopt(self, pod: LocalPod) -> None:
        """Register a pod that was found on disk, and follow its shim if it runs."""
        self._deps.pods.add(pod)
        if pod.shim is not None:
            self._starter.follow(pod, pod.shim)

    # Acting

    async def _act(self, pod: LocalPod, action: Action) -> bool:
        """Perform an action; returns whether to plan again."""
        match action:
            case actions.StartSandbox():
                return await self._starter.sandbox(pod)
            case actions.StartContainer(name, attempt):
                return not pod.starting and await self._starter.container(pod, name, attempt)
            case actions.BackOffRestart(name, delay, until):
                self._hold_back(pod, name, delay, until)
            case actions.StartOver():
                self._starter.over(pod)
                return True
            case actions.RequeueAfter():
                pass
            case _:
                return await self._wind_down(pod, action)
        return False

    async def _wind_down(self, pod: LocalPod, action: Action) -> bool:
        match action:
            case actions.BeginStop():
                self._say_late(pod)
                if pod.closing:
                    interruptions.mark(pod.directory, {action.name: action.attempt})
                self._stopper.begin(pod, action)
                return True
            case actions.SignalStop():
                await self._stopper.signal(pod, action)
            case actions.EndSandbox():
                await self._stopper.end_sandbox(pod)
                return True
            case actions.Finish():
                await self._finish(pod)
                return True
            case actions.DeletePod():
                await reporting.report(self._deps, pod)
                await reporting.delete(self._deps, pod)
                return pod.removed
            case actions.Forget():
                await self._forget(pod)
        return False

    def _hold_back(self, pod: LocalPod, name: str, delay: int, until: float) -> None:
        text = f"back-off {duration(delay)} restarting failed container={name} pod={pod_specs.long_name(pod.obj)}"
        known = pod.failures.get(name)
        if known is None or known.message != text or known.until != until:
            message = f"Back-off restarting failed container {name} in pod {pod_specs.long_name(pod.obj)}"
            self._deps.announce(pod, name, "BackOff", message)
            pod.failures[name] = Failure("CrashLoopBackOff", text, until)
        self._deps.wake(pod.uid, until - self._deps.clock())

    def _say_late(self, pod: LocalPod) -> None:
        if pod.uid in self._late:
            return
        if lifecycle.ending(pod.obj, pod.observed(), self._deps.clock()) is Ending.DEADLINE:
            self._late.add(pod.uid)
            message = "Pod was active on the node longer than the specified deadline"
            self._deps.announce(pod, "", "DeadlineExceeded", message, kind="Normal")

    async def _finish(self, pod: LocalPod) -> None:
        """With `closing` the pod keeps its resources: the next start continues as after a reboot."""
        if not pod.closing:
            await self._stopper.release(pod)
        pod.finished = True

    async def _forget(self, pod: LocalPod) -> None:
        prober = self._probers.pop(pod.uid, None)
        if prober is not None:
            prober.stop()
        self._starter.forget(pod.uid)
        self._late.discard(pod.uid)
        await self._stopper.forget(pod)

    async def _refresh(self, pod: LocalPod) -> None:
        """Update what the pod reads in its volumes."""
        if not pod.stale or pod.shim is None:
            return
        fresh, pod.stale, pod.nudged = pod.nudged, False, False
        try:
            await self._deps.bodies.refresh(pod.obj, pod.directory, fresh=fresh)
        except NotReady as lack:
            self._deps.announce(pod, "", lack.reason, lack.message)
            pod.stale, pod.nudged = True, pod.nudged or fresh
            self._deps.wake(pod.uid, REFRESH_PAUSE)

    # Watching

    def _watch(self, pod: LocalPod) -> None:
        """Adapt the pod's probes to the containers that run."""
        ending = lifecycle.ending(pod.obj, pod.observed(), self._deps.clock()) is not None
        prober = self._probers.get(pod.uid)
        if prober is None:
            stands_in = self._deps.bodies.stands_in
            prober = Prober(pod, self._deps.announce, lambda: self._deps.wake(pod.uid, 0), stands_in)
            self._probers[pod.uid] = prober
        prober.keep_up(ending)

    def nudge(self, uid: str) -> None:
        """An object that a pod uses or waits for changed: read it again, and retry at once what failed before."""
        pod = self._deps.pods.get(uid)
        if pod is not None:
            pod.stale = True
            pod.sandbox_failure = None
            pod.failures = {
                name: failure for name, failure in pod.failures.items() if failure.reason == "CrashLoopBackOff"
            }
            self._deps.wake(uid, 0)

    async def close(self) -> None:
        """End all pods within their grace periods, and leave their objects unchanged. No pod starts any more."""
        self._closing = True
        for pod in self._deps.pods.all():
            pod.closing = True
            self._deps.wake(pod.uid, 0)
        while not all(pod.finished for pod in self._deps.pods.all()):
            self._closed.clear()
            await self._closed.wait()

    async def stop(self) -> None:
        for prober in self._probers.values():
            prober.stop()
        await self.tasks.stop()


def _described(obj: Obj) -> tuple[object, object]:
    """The part of a pod's metadata that its volumes may show and that may change."""
    return obj["metadata"].get("labels"), obj["metadata"].get("annotations")


def uids(obj: Obj) -> list[str]:
    return [pod_specs.uid_of(obj)]


def uids_to_run(obj: Obj) -> list[str]:
    """Without mirror pods: their processes run outside of pods."""
    return [] if is_mirror(obj) else uids(obj)
