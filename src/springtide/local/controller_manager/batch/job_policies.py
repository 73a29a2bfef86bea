# SPDX-License-Identifier: Apache-2.0
"""The two policies of a batch Job: which pod failures count, and what suffices for success. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from springtide.kube.resources import Obj
from springtide.local.controller_manager.batch import job_indexes
from springtide.local.controller_manager.batch.job_indexes import Indexes
from springtide.local.controller_manager.views import PodView


class Handling(NamedTuple):
    """The result of the failure policy for a failed pod."""

    action: str = ""
    """FailJob, FailIndex, Ignore, Count, or empty when no rule matches."""
    message: str = ""
    """Why the whole Job fails, for FailJob."""

    @property
    def counts(self) -> bool:
        """Whether the failure counts towards the limits."""
        return self.action != "Ignore"


def handle_failure(rules: Sequence[Obj] | None, pod: PodView) -> Handling:
    """The first matching rule decides."""
    for number, rule in enumerate(rules or ()):
        reason = _matched(rule, pod)
        if reason:
            action = rule["action"]
            message = f"{reason} matching {action} rule at index {number}" if action == "FailJob" else ""
            return Handling(action, message)
    return Handling()


def _matched(rule: Obj, pod: PodView) -> str:
    where = f"{pod.metadata.namespace}/{pod.metadata.name}"
    if codes := rule.get("onExitCodes"):
        for status in (*pod.status.container_statuses, *pod.status.init_container_statuses):
            ended = status.state.terminated
            if ended is None or codes.get("containerName", status.name) != status.name:
                continue
            if ended.exit_code and (ended.exit_code in codes["values"]) == (codes["operator"] == "In"):
                return f"Container {status.name} for pod {where} failed with exit code {ended.exit_code}"
        return ""
    patterns = {(pattern["type"], pattern.get("status", "True")) for pattern in rule.get("onPodConditions") or ()}
    for condition in pod.status.conditions:
        if (condition.type, condition.status) in patterns:
            return f"Pod {where} has condition {condition.type}"
    return ""


def success_met(policy: Obj | None, completions: int, succeeded: Indexes) -> str:
    """A message naming the first success policy rule that is met, or ""."""
    if not policy or not succeeded:
        return ""
    for number, rule in enumerate(policy.get("rules") or ()):
        if _enough(rule, completions, succeeded):
            return f"Matched rules at index {number}"
    return ""


def _enough(rule: Obj, completions: int, succeeded: Indexes) -> bool:
    count = rule.get("succeededCount")
    if "succeededIndexes" not in rule:
        return count is not None and len(succeeded) >= count
    required = job_indexes.parse(rule["succeededIndexes"], completions)
    met = len(required & succeeded)
    return bool(required) and (met == len(required) or (count is not None and met >= count))
