# SPDX-License-Identifier: Apache-2.0
"""Whether a container that ended runs again, and when: restart policies, restart rules and crash-loop back-off.

The first restart is immediate; the next 10 seconds after the end, then 20, 40 and so on up to five minutes. After a run
of ten minutes the back-off is reset. Pure; the agent keeps one `BackOff` for each container.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

FIRST_DELAY = 10
LONGEST_DELAY = 300
STABLE = 2 * LONGEST_DELAY
"""Seconds between a restart and the next end after which the back-off of a container is reset."""


@dataclass(frozen=True, slots=True)
class BackOff:
    delay: int
    updated: float
    """When the container was last restarted."""


def should_restart(container: Mapping[str, Any], pod_policy: str, exit_code: int) -> bool:
    policy = container.get("restartPolicy")
    if policy is not None and _rule_at(container, exit_code) in ("Restart", "RestartAllContainers"):
        return True
    return {"Always": True, "OnFailure": exit_code != 0, "Never": False}.get(policy or pod_policy, True)


def restarts_all(container: Mapping[str, Any], exit_code: int) -> bool:
    """Whether this exit code makes all containers of the pod start over."""
    return _rule_at(container, exit_code) == "RestartAllContainers"


def could_restart_all(containers: Iterable[Mapping[str, Any]]) -> bool:
    rules = (rule for container in containers for rule in container.get("restartPolicyRules") or ())
    return any(rule.get("action") == "RestartAllContainers" for rule in rules)


def restarts_on_failure(container: Mapping[str, Any], pod_policy: str) -> bool:
    """Whether a container that has to be killed will run again; rules about exit codes cannot be applied yet."""
    return (container.get("restartPolicy") or pod_policy) != "Never"


def _rule_at(container: Mapping[str, Any], exit_code: int) -> str:
    """The action of the first rule that matches the exit code."""
    for rule in container.get("restartPolicyRules") or ():
        codes = rule.get("exitCodes") or {}
        listed = exit_code in (codes.get("values") or ())
        if listed == (codes.get("operator") == "In"):
            return str(rule.get("action"))
    return ""


def wait_until(back_off: BackOff | None, finished: float, now: float) -> float | None:
    """The time until which a container that ended at `finished` has to wait; None when it may start."""
    if back_off is None or finished - back_off.updated > STABLE:
        return None
    if not 0 <= now - finished < back_off.delay:  # over, or the clock was set back by an unknown amount
        return None
    return finished + back_off.delay


def restarted(back_off: BackOff | None, finished: float, now: float) -> BackOff:
    """The back-off after a restart at `now` of a container that ended at `finished`."""
    if back_off is None or finished - back_off.updated > STABLE:
        return BackOff(FIRST_DELAY, now)
    return BackOff(min(back_off.delay * 2, LONGEST_DELAY), now)
