# SPDX-License-Identifier: Apache-2.0
"""Running probes: a task for each probe of each running attempt.

Startup probes run first; liveness and readiness probes wait until the container has started. A failed startup or
liveness probe ends its task: the container will be killed, and its next attempt gets new tasks.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from springtide.kube.resources import Obj
from springtide.local.kubelet.pods import exec_commands
from springtide.local.kubelet.pods.local_pods import LocalPod
from springtide.local.kubelet.pods.observed import Verdict
from springtide.local.kubelet.pods.tasks import complain
from springtide.local.kubelet.probes import connections
from springtide.local.kubelet.probes.answers import Answer, ProbeError, port_number, refusal
from springtide.local.kubelet.probes.thresholds import Streak, delay_before, period_of, timeout_of
from springtide.local.kubelet.specs import expansion, pod_specs
from springtide.local.runtime.contract import ContainerState
from springtide.local.runtime.shim_client import Shim, ShimError

logger = logging.getLogger(__name__)

KINDS = ("startup", "liveness", "readiness")
Announce = Callable[[LocalPod, str, str, str], None]
"""Records an event from pod, container, reason and message."""


class Prober:
    """The probes of one pod."""

    def __init__(
        self, pod: LocalPod, announce: Announce, changed: Callable[[], None], stands_in: Callable[[str], bool]
    ) -> None:
        """`stands_in` returns whether containers of an image do nothing."""
        self._pod = pod
        self._stands_in = stands_in
        self._announce = announce
        self._changed = changed
        self._tasks: dict[tuple[str, int, str], asyncio.Task[None]] = {}
        self._started: dict[tuple[str, int], asyncio.Event] = {}

    def keep_up(self, ending: bool) -> None:
        """Probe exactly the containers that run now. For a pod that is ending only readiness probes continue."""
        wanted = {
            (container["name"], state.attempt, kind): (container, state)
            for container in pod_specs.all_containers(self._pod.obj)
            if (state := self._pod.states.get(container["name"]))
            and state.status == "running"
            and container["name"] not in self._pod.starting
            for kind in KINDS
            if container.get(f"{kind}Probe") and not (ending and kind != "readiness")
        }
        for gone in self._tasks.keys() - wanted.keys():
            self._tasks.pop(gone).cancel()
            self._started.pop(gone[:2], None)
        for key in wanted.keys() - self._tasks.keys():
            container, state = wanted[key]
            name = f"{key[2]} probe of container {key[0]} of pod {self._pod.uid}"
            self._tasks[key] = asyncio.create_task(self._watch(container, state, key[2]), name=name)
            self._tasks[key].add_done_callback(complain)

    def stop(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        self._tasks.clear()

    async def _watch(self, container: Obj, state: ContainerState, kind: str) -> None:
        probe, streak = container[f"{kind}Probe"], Streak()
        started = self._started.setdefault((state.name, state.attempt), asyncio.Event())
        if self._stands_in(str(container.get("image") or "")):
            self._judge(container, state, kind, True)  # it does nothing, so it is always healthy
            return
        if kind == "startup" and self._had_started(container):
            self._judge(container, state, "startup", True)
            return
        if kind != "startup" and container.get("startupProbe"):
            await started.wait()
        await asyncio.sleep(delay_before(probe, state.started, time.time()))
        while True:
            healthy = await self._ask(probe, container, kind)
            if healthy is not None:
                streak = streak.then(healthy)
                verdict = streak.verdict(probe)
                self._judge(container, state, kind, verdict)
                if verdict is not None and (kind == "startup" or (kind == "liveness" and not verdict)):
                    return
            await asyncio.sleep(period_of(probe))

    def _had_started(self, container: Obj) -> bool:
        """Whether an earlier agent saw this very attempt pass its startup probe."""
        reported = (*self._pod.status.get("containerStatuses", ()), *self._pod.status.get("initContainerStatuses", ()))
        attempt = self._pod.states[container["name"]].attempt
        return any(
            status["name"] == container["name"] and status.get("started") and status["restartCount"] == attempt
            for status in reported
        )

    def _judge(self, container: Obj, state: ContainerState, kind: str, verdict: bool | None) -> None:
        name = container["name"]
        before = self._pod.verdicts.get(name, Verdict())
        current = self._pod.states.get(name)
        outdated = current is None or current.attempt != state.attempt
        if verdict is None or outdated or getattr(before, kind) is verdict:
            return
        self._pod.verdicts[name] = replace(before, **{kind: verdict})
        if kind == "startup" and verdict:
            self._started[name, state.attempt].set()
        self._changed()

    async def _ask(self, probe: Obj, container: Obj, kind: str) -> bool | None:
        """One result, with an event if it is bad; None when the probe could not be executed."""
        try:
            answer = await self._answer(probe, container)
        except (ProbeError, ShimError, OSError) as error:
            message = f"{kind.title()} probe errored and resulted in unknown state: {error}"
            self._announce(self._pod, container["name"], "Unhealthy", message)
            return None
        if not answer.healthy:
            self._announce(self._pod, container["name"], "Unhealthy", f"{kind.title()} probe failed: {answer.output}")
        elif answer.warning:
            self._announce(
                self._pod, container["name"], "ProbeWarning", f"{kind.title()} probe warning: {answer.output}"
            )
        return answer.healthy

    async def _answer(self, probe: Obj, container: Obj) -> Answer:
        shim, timeout = self._pod.shim, timeout_of(probe)
        if shim is None:
            raise ProbeError("the pod's sandbox is gone")
        if "exec" in probe:
            return await _ask_command(_command(probe["exec"], container), shim, container["name"], timeout)
        sockets = partial(shim.socket, "tcp")
        address = self._pod.address
        if "httpGet" in probe:
            asking = connections.ask_http(probe["httpGet"], container, address, sockets)
        elif "tcpSocket" in probe:
            asking = connections.ask_tcp(probe["tcpSocket"], container, address, sockets)
        elif "grpc" in probe:
            asking = connections.ask_grpc(probe["grpc"], address, sockets)
        else:
            raise ProbeError("missing probe handler for this container")
        try:
            return await asyncio.wait_for(asking, timeout)
        except TimeoutError:
            return Answer(False, late(probe, container, address, timeout))


def late(probe: Obj, container: Obj, address: str, timeout: float) -> str:
    """The output for a probe that timed out, in kubelet's wording."""
    if "grpc" in probe:
        return f"timeout: health rpc did not complete within {timeout:g}s"
    if "tcpSocket" in probe:
        action = probe["tcpSocket"]
        place = f"{action.get('host') or address}:{port_number(action['port'], container)}"
        return refusal(TimeoutError(), place)
    url = connections.url_of(probe["httpGet"], container, address)
    return f'Get "{url}": context deadline exceeded (Client.Timeout exceeded while awaiting headers)'


def _command(action: Obj, container: Obj) -> list[str]:
    """The command, with references to the container's literal variables expanded; the values of others are not known
    here."""
    known = {one["name"]: one.get("value", "") for one in container.get("env") or () if "valueFrom" not in one}
    try:
        return list(expansion.argv(action.get("command") or (), (), known))
    except expansion.TooLongError as error:
        raise ProbeError(f"the probe's command is too long: {error}") from None


async def _ask_command(command: list[str], shim: Shim, container: str, timeout: float) -> Answer:
    try:
        outcome = await exec_commands.run(shim, container, command, timeout)
    except exec_commands.TimedOut as late:
        return Answer(False, str(late))
    return Answer(outcome.code == 0, outcome.output)
