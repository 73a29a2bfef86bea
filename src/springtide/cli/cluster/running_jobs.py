# SPDX-License-Identifier: Apache-2.0
"""The running jobs of a cluster that is to be stopped, and how each continues: the notice of `tide down`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from springtide.api.kinds.registry import RESOURCES
from springtide.cli.cluster import probe
from springtide.cli.speaking import shown
from springtide.messages import Text, text

_PATIENCE = 2.0
"""Seconds for all requests: a hanging server must not keep its cluster from being stopped."""
_SHOWN = 10
_PAGE = 200
_BATCH_JOBS = "/apis/batch/v1/jobs"
_FROM_CHECKPOINT = text("continues from its last checkpoint, or from the beginning if it has none")
_FROM_BEGINNING = text("starts from the beginning")


@dataclass(frozen=True, slots=True)
class RunningJob:
    name: str
    """With its namespace and kind."""
    fate: Text
    """How it continues after its pods were stopped."""


def notice(kubeconfig: Path, *, keep_pods: bool) -> str:
    """The notice for users; empty where no job runs, or the cluster has not been up yet."""
    if not kubeconfig.exists():
        return ""
    try:
        found = _found(kubeconfig)
    except probe.SilentError:
        return shown(
            text(
                "Its server does not answer, so running jobs cannot be listed; they continue with the next `tide up`.\n"
            )
        )
    return told(found, keep_pods=keep_pods)


def told(jobs: Iterable[RunningJob], *, keep_pods: bool) -> str:
    jobs = list(jobs)
    if not jobs:
        return ""
    running = text("1 job is running" if len(jobs) == 1 else "{count} jobs are running", count=len(jobs))
    head = text(
        "{running}, and so it stays; the next `tide up` takes the pods over:"
        if keep_pods
        else "{running}. With the next `tide up`:",
        running=running,
    )
    lines = [text("{name}" if keep_pods else "{name} {fate}", name=job.name, fate=job.fate) for job in jobs[:_SHOWN]]
    more = [text("and {count} more", count=len(jobs) - _SHOWN)] if len(jobs) > _SHOWN else []
    return "".join(f"{line}\n" for line in (shown(head), *(f"  {shown(line)}" for line in (*lines, *more))))


def _found(kubeconfig: Path) -> list[RunningJob]:
    deadline = time.monotonic() + _PATIENCE
    with probe.connected(kubeconfig, _PATIENCE) as server:

        def listed(path: str) -> Iterator[Any]:
            following = ""
            while time.monotonic() < deadline:
                try:
                    page = probe.answer(server, f"{path}?limit={_PAGE}{following}")
                except probe.NotServedError:
                    return
                yield from page.get("items") or ()
                if not (token := page["metadata"].get("continue")):
                    return
                following = f"&continue={quote(token)}"

        kinds = [(each.kind, f"/apis/{each.group}/{each.versions[0].name}/{each.plural}") for each in RESOURCES]
        found = [training_job(kind, job) for kind, path in kinds for job in listed(path)]
        found += [batch_job(job) for job in listed(_BATCH_JOBS)]
    return [job for job in found if job is not None]


def training_job(kind: str, job: Any) -> RunningJob | None:
    """None for a job that is finished, suspended, or not started."""
    status = job.get("status") or {}
    if status.get("state", "Created") in ("Created", "Suspended", "Succeeded", "Failed"):
        return None
    elastic = status.get("minReplicas") is not None
    return RunningJob(_name(job, kind), _FROM_CHECKPOINT if elastic else _FROM_BEGINNING)


def batch_job(job: Any) -> RunningJob | None:
    """None also for the launcher of another job."""
    spec, status = job["spec"], job.get("status") or {}
    if not status.get("active") or any(
        owner.get("controller") for owner in job["metadata"].get("ownerReferences") or ()
    ):
        return None
    counted = text(
        "{fate}; each pod counts towards its backoffLimit ({limit})",
        fate=_FROM_BEGINNING,
        limit=spec["backoffLimit"],
    )
    return RunningJob(_name(job, "Job"), _FROM_BEGINNING if _ignores_disruptions(spec) else counted)


def _ignores_disruptions(spec: Any) -> bool:
    return any(
        rule.get("action") == "Ignore" and pattern.get("type") == "DisruptionTarget"
        for rule in (spec.get("podFailurePolicy") or {}).get("rules") or ()
        for pattern in rule.get("onPodConditions") or ()
    )


def _name(job: Any, kind: str) -> str:
    return f"{kind} {job['metadata']['namespace']}/{job['metadata']['name']}"
