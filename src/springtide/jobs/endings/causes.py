# SPDX-License-Identifier: Apache-2.0
"""Why a pod ended, as text for users, and whether the pod itself caused it."""

from __future__ import annotations

import signal
from typing import Final

from springtide.jobs.observed import Exit, Pod

EVICTED: Final = "Evicted"
NODE_LOST: Final = "NodeLost"
"""Written by old API servers; on newer ones it is derived from the node."""
LINES: Final = 10
LENGTH: Final = 600
_SHUTDOWNS: Final = frozenset({"Terminated", "NodeShutdown", "Shutdown"})
"""The reasons that kubelets of different releases give a pod whose node is shut down."""
_MOVES: Final = {
    "EvictionByEvictionAPI": "was evicted from node {}",
    "DeletionByTaintManager": "was evicted from node {} by a taint",
    "PreemptionByScheduler": "was preempted on node {}",
}
"""Reasons of the condition `DisruptionTarget`, as text for users."""
_DISRUPTIONS: Final = frozenset({EVICTED, "Preempting", "Preempted", NODE_LOST, *_SHUTDOWNS})


def evicted(pod: Pod) -> bool:
    return pod.reason == EVICTED


def shut_down(pod: Pod) -> bool:
    """The pod's node was shut down. This does not count as a failure: the pod is created again however often it
    happens."""
    return pod.ended and pod.reason in _SHUTDOWNS


def moved(pod: Pod) -> bool:
    """The pod is being evicted by a drain, a taint or a preemption; this does not count as a failure of the pod."""
    return pod.terminating and pod.disruption in _MOVES


def lost(pod: Pod) -> bool:
    """The pod's state is unknown because its node is unresponsive."""
    return (not pod.ended and pod.reason == NODE_LOST) or pod.phase == "Unknown"


def disrupted(pod: Pod) -> bool:
    """The pod ended because of its node, not because of its program."""
    return pod.disrupted or pod.reason in _DISRUPTIONS or lost(pod)


def ending(pod: Pod) -> str:
    """How the main container ended, as far as it is known."""
    return exited(pod.exit) if pod.exit is not None else ""


def exited(ended: Exit) -> str:
    """`exited with code 137 (OOMKilled, SIGKILL): last lines`."""
    if ended.code is None:
        return ""
    hints = [hint for hint in (ended.reason if ended.reason != "Error" else "", _signal(ended.signal)) if hint]
    said = f": {_end(ended.message)}" if ended.message.strip() else ""
    return f"exited with code {ended.code}" + (f" ({', '.join(hints)})" if hints else "") + said


def _end(message: str) -> str:
    """The last lines matter most; the rest is in the log. Sentences go on after them, so without a full stop."""
    lines = message.strip().splitlines()
    text = "\n".join(lines[-LINES:])
    text = text if text.endswith("..") else text.removesuffix(".")
    return text if len(text) <= LENGTH and len(lines) <= LINES else f"… {text[-LENGTH:].lstrip()}"


def _signal(number: int | None) -> str:
    return signal.Signals(number).name if number in signal.valid_signals() and number is not None else ""


def worker(pod: Pod) -> str:
    if lost(pod):
        return f"was lost with node {pod.node}"
    if shut_down(pod):
        return f"was stopped with node {pod.node}" if pod.node else "was stopped with its node"
    if moved(pod):
        return _MOVES[pod.disruption].format(pod.node)
    if evicted(pod):
        return f"was evicted: {pod.message}" if pod.message else "was evicted"
    if pod.ended:
        return ending(pod) or f"ended as {pod.reason or pod.phase}" + (f": {pod.message}" if pod.message else "")
    return "was deleted"
