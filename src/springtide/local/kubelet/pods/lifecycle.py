# SPDX-License-Identifier: Apache-2.0
"""A pod's life as a pure plan: from its observed state to the actions that are due now.

    sandbox ─► init containers, one after the other (sidecars stay) ─► containers ─► … ─► wind-down ─► finished

`plan` is called whenever the pod changes and returns the next actions, never all: it depends on the observed state
only, not on earlier plans, so that a restarted agent continues where its predecessor died. Order and wording are
kubelet's. There is one way to wind down, whatever the cause (deleted, deadline exceeded, all containers done, agent
ending its pods): preStop hooks, then SIGTERM, main containers before sidecars and sidecars in reverse order, SIGKILL by
the shim at the end of the grace period, then the end of the sandbox, then the last report to the API.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any

from springtide.kube.resources import Obj
from springtide.local.kubelet.pods import restarts
from springtide.local.kubelet.pods.actions import (
    Action,
    BackOffRestart,
    BeginStop,
    DeletePod,
    EndSandbox,
    Finish,
    Forget,
    RequeueAfter,
    SignalStop,
    StartContainer,
    StartOver,
    StartSandbox,
)
from springtide.local.kubelet.pods.observed import Observed, Stop, Verdict
from springtide.local.kubelet.specs import pod_specs
from springtide.local.runtime.contract import ContainerState

MINIMUM_GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL for a container whose grace period is already used up."""


class Ending(StrEnum):
    """Why a pod winds down."""

    DELETED = "deleted"
    DEADLINE = "deadline"
    CLOSING = "closing"
    DONE = "done"


def plan(pod: Mapping[str, Any], seen: Observed, now: float) -> tuple[Action, ...]:
    if seen.finished:
        return _after_the_end(pod, seen)
    if ending(pod, seen, now):
        return tuple(_wind_down(pod, seen, now))
    if not seen.sandbox:
        return _sandbox(seen, now)
    if starts_over(pod, seen):
        return tuple(_start_over(pod, seen, now))
    steps = [*_ephemeral(pod, seen), *_initialization(pod, seen, now)]
    if is_initialized(pod, seen):
        steps += _keep_all(pod_specs.main_containers(pod), pod, seen, now)
    deadline = pod_specs.deadline_of(pod, seen.start)
    if deadline is not None:
        steps.append(RequeueAfter(deadline - now))
    return tuple(_without_overtaking(steps, seen))


def ending(pod: Mapping[str, Any], seen: Observed, now: float) -> Ending | None:
    """Why the pod winds down; None if it does not."""
    if seen.removed or pod_specs.is_deleted(pod):
        return Ending.DELETED
    if seen.closing:
        return Ending.CLOSING
    if seen.phase in pod_specs.TERMINAL:
        return Ending.DONE
    if _is_late(pod, seen, now):
        return Ending.DEADLINE
    return Ending.DONE if is_done(pod, seen) and not starts_over(pod, seen) else None


def _is_late(pod: Mapping[str, Any], seen: Observed, now: float) -> bool:
    """Whether the pod exceeded its deadline, including a pod whose containers have ended only because of it."""
    deadline = pod_specs.deadline_of(pod, seen.start)
    if deadline is None or now < deadline:
        return False
    inits = [one for one in pod_specs.init_containers(pod) if not pod_specs.is_sidecar(one)]
    states = [seen.states.get(one["name"]) for one in (*inits, *pod_specs.main_containers(pod))]
    return not is_done(pod, seen) or any(state is not None and state.finished >= deadline for state in states)


def is_done(pod: Mapping[str, Any], seen: Observed) -> bool:
    """Whether no container will run again: all are done, or initialization failed, or a pod that never restarts lost
    its sandbox."""
    policy = _policy(pod)
    if not seen.sandbox and policy == "Never" and any(_latest(name, seen) for name in seen.states):
        return True
    if any(_failed_for_good(container, seen, policy) for container in pod_specs.init_containers(pod)):
        return True
    states = [(container, _latest(container["name"], seen)) for container in pod_specs.main_containers(pod)]
    return all(
        state is not None
        and state.status == "exited"
        and not restarts.should_restart(container, policy, state.exit_code)
        for container, state in states
    )


def starts_over(pod: Mapping[str, Any], seen: Observed) -> bool:
    """Whether a container ended in a way that restarts all containers."""
    containers = (*pod_specs.init_containers(pod), *pod_specs.main_containers(pod))
    ends = [(container, _current(container["name"], seen)) for container in containers]
    return any(
        state and state.status == "exited" and restarts.restarts_all(one, state.exit_code) for one, state in ends
    )


def is_initialized(pod: Mapping[str, Any], seen: Observed) -> bool:
    """Whether, in this sandbox, a main container was started already or the last init container is complete."""
    if any(_current(container["name"], seen) for container in pod_specs.main_containers(pod)):
        return True
    inits = pod_specs.init_containers(pod)
    return not inits or _is_through(inits[-1], seen)


def _policy(pod: Mapping[str, Any]) -> str:
    return str(pod["spec"].get("restartPolicy") or "Always")


def _latest(name: str, seen: Observed) -> ContainerState | None:
    """The newest attempt, if it was made since all containers last started over."""
    state = seen.states.get(name)
    return state if state is not None and state.attempt > seen.reset.get(name, -1) else None


def _current(name: str, seen: Observed) -> ContainerState | None:
    """The newest attempt, if it was also made in this sandbox."""
    state = _latest(name, seen)
    return state if state is not None and state.attempt > seen.earlier.get(name, -1) else None


def _failed_for_good(container: Obj, seen: Observed, policy: str) -> bool:
    state = _current(container["name"], seen)
    if state is None or state.status != "exited" or state.exit_code == 0 or pod_specs.is_sidecar(container):
        return False
    return not restarts.should_restart(container, policy, state.exit_code)


def _is_through(container: Obj, seen: Observed) -> bool:
    """Whether an init container allows the next one to start."""
    state = _current(container["name"], seen)
    if state is None:
        return False
    if not pod_specs.is_sidecar(container):
        return state.status == "exited" and state.exit_code == 0
    if state.status != "running" or container["name"] in seen.starting:
        return False
    verdict = seen.verdicts.get(container["name"], Verdict())
    return verdict.startup is True or not container.get("startupProbe")


# Starting


def _sandbox(seen: Observed, now: float) -> tuple[Action, ...]:
    if seen.sandbox_failure is not None and (pause := seen.sandbox_failure.pause(now)):
        return (RequeueAfter(pause),)
    return (StartSandbox(),)


def _ephemeral(pod: Mapping[str, Any], seen: Observed) -> Iterator[Action]:
    """Containers added for debugging: started once, at any time."""
    for container in pod_specs.ephemeral_containers(pod):
        if container["name"] not in seen.states and container["name"] not in seen.failures:
            yield StartContainer(container["name"], 0)


def _initialization(pod: Mapping[str, Any], seen: Observed, now: float) -> Iterator[Action]:
    """Run the first init container that is not complete, and keep the sidecars before it running."""
    inits = pod_specs.init_containers(pod)
    if any(_current(container["name"], seen) for container in pod_specs.main_containers(pod)):
        # Ordinary init containers are complete; a sidecar that failed no longer delays main containers.
        yield from _keep_all([container for container in inits if pod_specs.is_sidecar(container)], pod, seen, now)
        return
    reached = max((number for number, one in enumerate(inits) if _current(one["name"], seen)), default=-1)
    for number, container in enumerate(inits[: reached + 1]):
        if pod_specs.is_sidecar(container) or number == reached:
            yield from _keep(container, pod, seen, now)
    if reached < 0 or _is_through(inits[reached], seen):
        yield from _keep_all(inits[reached + 1 : reached + 2], pod, seen, now)


def _keep_all(containers: Iterable[Obj], pod: Mapping[str, Any], seen: Observed, now: float) -> Iterator[Action]:
    for container in containers:
        yield from _keep(container, pod, seen, now)


def _keep(container: Obj, pod: Mapping[str, Any], seen: Observed, now: float) -> Iterator[Action]:
    """The actions that keep this container running until it is done."""
    name = container["name"]
    state = _latest(name, seen)
    if state is None:
        yield from _start(name, seen.reset.get(name, -1) + 1, seen, now)
    elif state.status == "running":
        yield from _check_health(container, pod, seen, now)
    elif _may_run_again(container, pod, state, seen):
        until = restarts.wait_until(seen.back_offs.get(name), state.finished, now)
        if until is None:
            yield from _start(name, state.attempt + 1, seen, now)
        else:
            yield BackOffRestart(name, seen.back_offs[name].delay, until)


def _may_run_again(container: Obj, pod: Mapping[str, Any], state: ContainerState, seen: Observed) -> bool:
    is_init = any(container["name"] == init["name"] for init in pod_specs.init_containers(pod))
    if is_init and not pod_specs.is_sidecar(container):
        if _current(container["name"], seen) is None:
            return True  # a new sandbox starts from the beginning
        return state.exit_code != 0 and restarts.should_restart(container, _policy(pod), state.exit_code)
    return restarts.should_restart(container, _policy(pod), state.exit_code)


def _start(name: str, attempt: int, seen: Observed, now: float) -> Iterator[Action]:
    failure = seen.failures.get(name)
    if failure is not None and (pause := failure.pause(now)):
        yield RequeueAfter(pause)
    else:
        yield StartContainer(name, attempt)


def _check_health(container: Obj, pod: Mapping[str, Any], seen: Observed, now: float) -> Iterator[Action]:
    """Stop a container whose probes failed or whose image was changed, or continue its stop."""
    name = container["name"]
    why, probe = _complaint(container, seen)
    if not why and not _stop_of(name, seen):
        return
    is_init = any(name == init["name"] for init in pod_specs.init_containers(pod))
    message = f"{'Init container' if is_init else 'Container'} {name} {why}"
    if not is_init and restarts.restarts_on_failure(container, _policy(pod)):
        message += ", will be restarted"
    asked = probe.get("terminationGracePeriodSeconds")
    grace = pod_specs.grace_of(pod) if asked is None else float(asked)
    yield from _stop(name, seen, grace, message, now)


def _complaint(container: Obj, seen: Observed) -> tuple[str, Obj]:
    """What is wrong with a running container, and the probe that detected it."""
    verdict = seen.verdicts.get(container["name"], Verdict())
    if seen.images.get(container["name"], container.get("image")) != container.get("image"):
        return "definition changed", {}
    if verdict.liveness is False:
        return "failed liveness probe", container.get("livenessProbe") or {}
    if verdict.startup is False:
        return "failed startup probe", container.get("startupProbe") or {}
    return "", {}


def _without_overtaking(steps: list[Action], seen: Observed) -> Iterator[Action]:
    """Drop starts while a postStart hook of any container runs, and keep only the earliest requeue."""
    waits = [step.seconds for step in steps if isinstance(step, RequeueAfter)]
    for step in steps:
        if isinstance(step, RequeueAfter) or (isinstance(step, StartContainer) and seen.starting):
            continue
        yield step
    if waits:
        yield RequeueAfter(max(min(waits), 0.0))


def _start_over(pod: Mapping[str, Any], seen: Observed, now: float) -> Iterator[Action]:
    """Kill what still runs, without a grace period; then forget all attempts."""
    running = [one["name"] for one in pod_specs.all_containers(pod) if _runs(one["name"], seen)]
    for name in running:
        yield from _stop(name, seen, 0.0, "killing", now)
    if not running:
        yield StartOver()


# Winding down


def _wind_down(pod: Mapping[str, Any], seen: Observed, now: float) -> Iterator[Action]:
    running = [one["name"] for one in pod_specs.all_containers(pod) if _runs(one["name"], seen)]
    if not running:
        yield EndSandbox() if seen.sandbox else Finish()
        return
    grace = pod_specs.grace_of(pod)
    steps = [step for name in running for step in _stop(name, seen, grace, f"Stopping container {name}", now)]
    for step in steps:
        if isinstance(step, SignalStop) and _has_to_wait(step.name, pod, seen, now):
            yield RequeueAfter(seen.stops[step.name].deadline - now)
        else:
            yield step


def _stop(name: str, seen: Observed, grace: float, message: str, now: float) -> Iterator[Action]:
    """The next action of one container's stop. A grace period shorter than before restarts the stop."""
    stop = _stop_of(name, seen)
    if stop is None or (now + grace < stop.deadline and grace < stop.grace):
        yield BeginStop(name, seen.states[name].attempt, grace, message)
    elif not stop.hook_running and not stop.signalled:
        left = min(stop.deadline - now, stop.grace)  # exceeds the grace only if the clock was set back
        yield SignalStop(name, max(left, MINIMUM_GRACE))


def _stop_of(name: str, seen: Observed) -> Stop | None:
    stop = seen.stops.get(name)
    return stop if stop is not None and stop.attempt == seen.states[name].attempt else None


def _runs(name: str, seen: Observed) -> bool:
    state = seen.states.get(name)
    return state is not None and state.status == "running"


def _has_to_wait(name: str, pod: Mapping[str, Any], seen: Observed, now: float) -> bool:
    """Whether a sidecar must wait: main containers, or sidecars after it, still run and its grace period is not
    over."""
    sidecars = [container["name"] for container in pod_specs.init_containers(pod) if pod_specs.is_sidecar(container)]
    if name not in sidecars or now >= seen.stops[name].deadline:
        return False
    before = [container["name"] for container in pod_specs.main_containers(pod)]
    before += sidecars[sidecars.index(name) + 1 :]
    return any(_runs(other, seen) for other in before)


def _after_the_end(pod: Mapping[str, Any], seen: Observed) -> tuple[Action, ...]:
    if seen.removed:
        return (Forget(),)
    if pod_specs.is_deleted(pod) and not seen.closing:
        return (DeletePod(),)
    return ()
