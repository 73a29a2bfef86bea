# SPDX-License-Identifier: Apache-2.0
"""Starting sandboxes and containers, and reporting why a start failed.

A failure is reported by an event and in the container's status, and retried after a growing pause; a change of what was
missing (a ConfigMap, a claim) shortens the pause.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

import msgspec

from springtide.kube.resources import Obj
from springtide.local.environments.environment import OWN, Environment
from springtide.local.kubelet.containers.bodies import NotReady, Prepared
from springtide.local.kubelet.containers.refusals import NOT_HERE
from springtide.local.kubelet.dependencies import Dependencies
from springtide.local.kubelet.devices.placing import NoDeviceError
from springtide.local.kubelet.node.addresses import NoAddressLeft
from springtide.local.kubelet.pods import hooks, restarts
from springtide.local.kubelet.pods.local_pods import LocalPod, Record, read_state
from springtide.local.kubelet.pods.observed import Failure, Stop
from springtide.local.kubelet.pods.tasks import Tasks
from springtide.local.kubelet.specs import pod_specs
from springtide.local.kubelet.status.termination import last_words
from springtide.local.pod_logs import kept
from springtide.local.runtime.contract import ContainerState, PodBody
from springtide.local.runtime.shim import logs as shim_logs
from springtide.local.runtime.shim_client import Shim, ShimError, ShimGoneError

logger = logging.getLogger(__name__)

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 10.0
LONGEST_PULL_PAUSE = 3.0
"""Seconds between two lookups of an environment: a user who has just created one waits for its pods."""
BACK_OFF = "ImagePullBackOff"


class Starter:
    def __init__(self, deps: Dependencies, tasks: Tasks) -> None:
        self._deps = deps
        self._tasks = tasks
        self._tries: dict[str, int] = {}

    # Sandbox

    async def sandbox(self, pod: LocalPod) -> bool:
        """Create the pod's sandbox; returns whether it exists now."""
        if pod.states:
            message = "Pod sandbox changed, it will be killed and re-created."
            self._deps.announce(pod, "", "SandboxChanged", message, kind="Normal")
        try:
            self._settle(pod)
            body = self._deps.bodies.sandbox(pod.obj, pod.directory)
            shim = await self._spawn_and_prepare(pod, body)
        except (ShimError, NoAddressLeft, OSError) as error:
            self._fail_sandbox(pod, "FailedCreatePodSandBox", f"Failed to create pod sandbox: {_why(pod, error)}")
            return False
        except NotReady as lack:
            self._fail_sandbox(pod, lack.reason, lack.message)
            return False
        self._tries.pop(pod.uid, None)
        pod.sandbox_failure = None
        self.follow(pod, shim)
        return True

    def _settle(self, pod: LocalPod) -> None:
        """Assign directory and address, and write the record of their owner."""
        if not pod.obj["spec"].get("hostNetwork"):
            pod.address = self._deps.addresses.take(pod.uid)
        pod.earlier = pod.attempts()
        pod.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._note(pod)
        if (known := kept.pod_of(pod.obj, self._deps.facts.node)) is not None:
            kept.write_card(pod.logs, known)

    def _note(self, pod: LocalPod) -> None:
        metadata = pod.obj["metadata"]
        Record(
            self._deps.facts.node,
            metadata["namespace"],
            metadata["name"],
            pod.uid,
            pod.address,
            pod_specs.grace_of(pod.obj),
            pod.earlier,
            pod.reset,
        ).write(pod.directory)

    def over(self, pod: LocalPod) -> None:
        """Make all containers start over."""
        pod.reset = pod.attempts()
        pod.back_offs.clear()
        pod.failures.clear()
        self._note(pod)

    async def _spawn_and_prepare(self, pod: LocalPod, body: PodBody) -> Shim:
        """Both in parallel. Missing volumes are reported when the first container starts, which prepares again."""
        preparing = asyncio.create_task(self._prepare(pod, body))
        try:
            return await self._deps.runtime.spawn(pod.directory)
        finally:
            with suppress(NotReady):
                await preparing

    async def _prepare(self, pod: LocalPod, body: PodBody | None = None) -> Prepared:
        pod.stale = False
        pod.prepared = await self._deps.bodies.prepare(pod.obj, pod.directory, body)
        for reason, message in pod.prepared.warnings:
            self._deps.announce(pod, "", reason, message)
        return pod.prepared

    def _fail_sandbox(self, pod: LocalPod, reason: str, message: str) -> None:
        self._deps.announce(pod, "", reason, message)
        pause = self._pause(pod.uid)
        pod.sandbox_failure = Failure(reason, message, self._deps.clock() + pause)
        self._deps.wake(pod.uid, pause)

    def _pause(self, key: str) -> float:
        tries = self._tries.get(key, 0)
        self._tries[key] = tries + 1
        return min(FIRST_PAUSE * 2.0 ** min(tries, 20), LONGEST_PAUSE)

    def follow(self, pod: LocalPod, shim: Shim) -> None:
        """From now on process all state changes in this sandbox."""
        pod.shim = shim
        self._tasks.start(pod.uid, self._follow(pod, shim), "sandbox")

    async def _follow(self, pod: LocalPod, shim: Shim) -> None:
        while pod.shim is shim:
            try:
                async for state in shim.changes():
                    self._take_in(pod, state)
                break
            except ShimError as error:
                logger.error("cannot follow the shim of pod %s: %s", pod_specs.long_name(pod.obj), error)
                await asyncio.sleep(FIRST_PAUSE)
        if pod.shim is not shim:
            return  # ended by the agent
        logger.warning("the shim of pod %s is gone", pod_specs.long_name(pod.obj))
        pod.shim = None
        shim.close()
        for state in self._deps.runtime.lost(pod.directory):
            mend_log(pod, state)
            self._take_in(pod, state)
        self._deps.wake(pod.uid, 0)

    def _take_in(self, pod: LocalPod, state: ContainerState) -> None:
        before = pod.states.get(state.name)
        if pod.take_in(with_last_words(pod, state)):
            if state.trouble and (before is None or before.trouble != state.trouble):
                self._deps.announce(pod, state.name, "FailedLogWrite", state.trouble)
            self._deps.wake(pod.uid, 0)

    # Containers

    async def container(self, pod: LocalPod, name: str, attempt: int) -> bool:
        """Start one attempt; returns whether it runs now."""
        shim, container = pod.shim, pod_specs.container_of(pod.obj, name)
        if shim is None or container is None:
            return False
        image = str(container.get("image") or "")
        try:
            environment = self._deps.bodies.environment(image)
            await self._write_body(pod, name, attempt)
        except NotReady as lack:
            if lack.reason == NOT_HERE:
                self._await_image(pod, container, lack.message)
            else:
                self._fail_to_make(pod, name, lack)
            return False
        except (OSError, NoDeviceError) as error:
            self._fail_to_make(pod, name, NotReady("CreateContainerError", _why(pod, error)))
            return False
        self._say(pod, name, "Pulled", f'Container image "{image}" {_standing_in(environment)}, nothing to pull')
        if environment.notice:
            self._say(pod, name, "BuiltIn", environment.notice)
        self._say(pod, name, "Created", "Container created")
        pod.images[name] = image
        before = pod.states.get(name)
        if before is not None:
            pod.back_offs[name] = restarts.restarted(pod.back_offs.get(name), before.finished, self._deps.clock())
        started = await self._start(pod, shim, name, attempt)
        if started:
            self._begin_hook(pod, container, attempt)
        return started

    async def _write_body(self, pod: LocalPod, name: str, attempt: int) -> None:
        prepared = pod.prepared or await self._prepare(pod)
        body = self._deps.bodies.container(pod.obj, name, attempt, prepared)
        directory = pod.directory / "containers" / name
        directory.mkdir(parents=True, exist_ok=True)
        (directory / f"{attempt}.body.json").write_bytes(msgspec.json.encode(body))

    async def _start(self, pod: LocalPod, shim: Shim, name: str, attempt: int) -> bool:
        try:
            await shim.start(name, attempt)
        except ShimGoneError:
            return False  # `_follow` reports it
        except ShimError as error:
            self._deps.announce(pod, name, "Failed", f"Error: {error}")
            reason = "RunContainerError" if error.reason == "StartError" else error.reason
            pause = self._pause(f"{pod.uid}/{name}") if read_state(pod.directory, name, attempt) is None else 0.0
            pod.failures[name] = Failure(reason, str(error), self._deps.clock() + pause)
            self._take_in_attempt(pod, name, attempt)
            self._deps.wake(pod.uid, pause)
            return False
        self._tries.pop(f"{pod.uid}/{name}", None)
        pod.failures.pop(name, None)
        self._say(pod, name, "Started", "Container started")
        self._take_in_attempt(pod, name, attempt)
        return True

    def _take_in_attempt(self, pod: LocalPod, name: str, attempt: int) -> None:
        """Read the state from disk instead of waiting for the shim's report: the plan continues at once."""
        state = read_state(pod.directory, name, attempt)
        if state is not None:
            pod.take_in(with_last_words(pod, state))

    def _fail_to_make(self, pod: LocalPod, name: str, lack: NotReady) -> None:
        """What all containers share is reported for the pod; what one container lacks, for that container."""
        own = lack.reason.startswith("CreateContainer")
        self._deps.announce(
            pod,
            name if own else "",
            "Failed" if own else lack.reason,
            f"Error: {lack.message}" if own else lack.message,
        )
        pause = self._pause(f"{pod.uid}/{name}")
        pod.failures[name] = Failure(lack.reason if own else "", lack.message, self._deps.clock() + pause)
        self._deps.wake(pod.uid, pause)

    def _await_image(self, pod: LocalPod, container: Obj, message: str) -> None:
        """Report the missing image once, as kubelet reports a failed pull, and look again later."""
        name, image = container["name"], container.get("image") or ""
        known = pod.failures.get(name)
        pause = min(self._pause(f"{pod.uid}/{name}"), LONGEST_PULL_PAUSE)
        until = self._deps.clock() + pause
        again = Failure(BACK_OFF, f'Back-off pulling image "{image}": {NOT_HERE}: {message}', until)
        if known is not None and known.reason == NOT_HERE and known.message == message:
            self._say(pod, name, "BackOff", f'Back-off pulling image "{image}"')
            self._deps.announce(pod, name, "Failed", f"Error: {BACK_OFF}")
        elif known is None or known.message != again.message:
            self._deps.announce(pod, name, "Failed", f'Failed to pull image "{image}": {message}')
            self._deps.announce(pod, name, "Failed", f"Error: {NOT_HERE}")
            again = Failure(NOT_HERE, message, until)
        pod.failures[name] = again
        self._deps.wake(pod.uid, pause)

    def _say(self, pod: LocalPod, name: str, reason: str, message: str) -> None:
        self._deps.announce(pod, name, reason, message, kind="Normal")

    def forget(self, uid: str) -> None:
        self._tries = {key: tries for key, tries in self._tries.items() if not key.startswith(uid)}

    # postStart

    def _begin_hook(self, pod: LocalPod, container: Obj, attempt: int) -> None:
        handler = pod_specs.hook_of(container, "postStart")
        if handler is not None:
            pod.starting.add(container["name"])
            self._tasks.start(pod.uid, self._post_start(pod, container, attempt, handler), "postStart")

    async def _post_start(self, pod: LocalPod, container: Obj, attempt: int, handler: Obj) -> None:
        name = container["name"]
        try:
            await hooks.run(handler, container, pod)
        except hooks.HookError as error:
            logger.info("%s", error)
            self._deps.announce(pod, name, "FailedPostStartHook", "PostStartHook failed")
            self._say(pod, name, "Killing", "FailedPostStartHook")
            pod.failures[name] = Failure("PostStartHookError", str(error))
            pod.stops[name] = Stop(attempt, self._deps.clock(), pod_specs.grace_of(pod.obj))
        finally:
            pod.starting.discard(name)
            self._deps.wake(pod.uid, 0)


def _standing_in(environment: Environment) -> str:
    """A shell runs in any environment, and reports later that the image's programs are missing."""
    if environment.name == OWN:
        return "runs in the environment of tide, because none was created for it with tide env create"
    return f"runs in environment {environment.name}"


def _why(pod: LocalPod, error: Exception) -> str:
    """The error message without Python's decoration."""
    if not isinstance(error, OSError):
        return str(error)
    return f"{error.filename or pod.directory}: {(error.strerror or str(error)).lower()}"


def mend_log(pod: LocalPod, state: ContainerState) -> None:
    """Repair the log of an attempt whose shim is gone: a shim killed during a write leaves half a record."""
    for path in pod.attempt_log(state.name, state.attempt)[-1:]:
        shim_logs.mend(str(path))


def with_last_words(pod: LocalPod, state: ContainerState) -> ContainerState:
    """The state of an attempt, with its termination message once it has ended."""
    container = pod_specs.container_of(pod.obj, state.name)
    if state.status != "exited" or state.message or container is None:
        return state
    message = pod.directory / "containers" / state.name / f"{state.attempt}.message"
    with suppress(OSError):
        words = last_words(container, state.exit_code, message, pod.attempt_log(state.name, state.attempt))
        return msgspec.structs.replace(state, message=words)
    return state
