# SPDX-License-Identifier: Apache-2.0
"""Attempts that ended with their node: by a shutdown of the cluster, a reboot, or because everything was killed.

The exit code of such an attempt does not show whether its program is done: a program may handle SIGTERM and exit with
0. Each is marked by an empty file beside its state, because a full disk still has room for that. The supervisor marks
what runs on all nodes before it stops any: a launcher may fail because workers on another node have stopped already. At
the next start a pod that may restart does so; one with restart policy Never has failed, as after a graceful shutdown of
a Kubernetes node.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from springtide.local.runtime.contract import ContainerState
from springtide.local.runtime.shim.process import LOST

logger = logging.getLogger(__name__)


def running(states: Iterable[ContainerState]) -> dict[str, int]:
    """The attempts that a shutdown would interrupt, by container."""
    return {state.name: state.attempt for state in states if state.status == "running"}


def unreported_failures(states: Iterable[ContainerState], reported: Mapping[str, Any]) -> dict[str, int]:
    """Attempts that failed without the API server having received their end.

    Used after a reboot: the service manager sends SIGTERM to all processes, including programs in pods.
    """
    fields = ("containerStatuses", "initContainerStatuses")
    known = {
        (status["name"], status["restartCount"])
        for field in fields
        for status in reported.get(field) or ()
        if "terminated" in (status.get("state") or {})
    }
    return {
        state.name: state.attempt
        for state in states
        if state.status == "exited" and state.exit_code != 0 and (state.name, state.attempt) not in known
    }


def mark(directory: Path, attempts: Mapping[str, int]) -> None:
    """Mark attempts as interrupted for the next start, which otherwise relies on their exit codes."""
    for container, attempt in attempts.items():
        try:
            _mark(directory, container, attempt).touch()
        except OSError as error:
            logger.warning("cannot note that %s was interrupted: %s", container, error)


def marked(directory: Path, states: Iterable[ContainerState]) -> dict[str, int]:
    """The newest attempts that are marked."""
    return {state.name: state.attempt for state in states if _mark(directory, state.name, state.attempt).exists()}


def killed(state: ContainerState, interrupted: Mapping[str, int]) -> ContainerState:
    """Replace exit code 0 of an interrupted attempt by that of one killed with its node; others are unchanged."""
    if interrupted.get(state.name) != state.attempt or state.status != "exited" or state.exit_code != 0:
        return state
    return msgspec.structs.replace(state, **LOST)


def _mark(directory: Path, container: str, attempt: int) -> Path:
    return directory / "containers" / container / f"{attempt}.interrupted"
