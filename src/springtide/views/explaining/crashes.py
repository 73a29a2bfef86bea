# SPDX-License-Identifier: Apache-2.0
"""Containers that end again and again: how, and what they printed last."""

from __future__ import annotations

import signal
from datetime import timedelta
from typing import Final, NamedTuple

from springtide.messages import Text, text
from springtide.views.explaining import reading
from springtide.views.explaining.evidence import Cause, Evidence, Fact, Obj
from springtide.views.pages.ages import instant

_STEADY: Final = timedelta(seconds=60)
"""A container has recovered when it has run this long."""
_OOM: Final = "OOMKilled"
_BY_SIGNAL: Final = range(129, 160)


class Crash(NamedTuple):
    pod: Obj
    container: str
    ended: Obj
    """`terminated` of its state, or of its last one."""
    field: str
    restarts: int


def crash_loop(evidence: Evidence) -> Cause | None:
    for crash in crashes(evidence):
        pod = reading.name(crash.pod)
        why = text(
            "container {container} of {pod} keeps crashing: it {ended}",
            container=crash.container,
            pod=pod,
            ended=how(crash),
        )
        command = f"kubectl logs {pod} -c {crash.container} --previous -n {evidence.namespace}"
        return Cause("CrashLoop", why, tuple(facts(evidence, crash)), command)
    return None


def how(crash: Crash) -> Text:
    """How a container ended, as a predicate."""
    ended, code = crash.ended, _code(crash.ended)
    if ended.get("reason") == _OOM:
        limits = (reading.container(crash.pod, crash.container).get("resources") or {}).get("limits") or {}
        if limits.get("memory"):
            return text("used more memory than its limit of {limit} (OOMKilled)", limit=limits["memory"])
        return text("ran out of memory (OOMKilled)")
    if name := _signal(ended):
        return text("was ended by signal {signal}, exit code {code}", signal=name, code=code)
    if ended.get("reason") in ("StartError", "ContainerCannotRun"):
        return text("could not be started: {said}", said=reading.clause(str(ended.get("message") or "")))
    return text("exited with code {code}", code=code)


def facts(evidence: Evidence, crash: Crash) -> list[Fact]:
    pod, ended = reading.name(crash.pod), crash.ended
    reason = str(ended.get("reason") or "")
    found = [Fact(f"pod/{pod}", crash.field, f"exitCode: {_code(ended)}" + (f", reason: {reason}" if reason else ""))]
    if crash.restarts:
        found.append(Fact(f"pod/{pod}", "restartCount", str(crash.restarts)))
    last = (evidence.logs or {}).get(pod) or str(ended.get("message") or "")
    lines = [line for line in last.splitlines() if line.strip()]
    found += [Fact(f"pod/{pod}", "log", reading.one_line(line)) for line in lines[-3:]]
    return found


def of_ended(pod: Obj) -> Crash | None:
    """The failure of a pod that is not restarted in place."""
    for kind in ("containerStatuses", "initContainerStatuses"):
        for each in (pod.get("status") or {}).get(kind) or ():
            ended = (each.get("state") or {}).get("terminated")
            if ended and _code(ended):
                field = f"status.{kind}[{each['name']}].state.terminated"
                return Crash(pod, str(each["name"]), ended, field, int(each.get("restartCount") or 0))
    return None


def crashes(evidence: Evidence) -> list[Crash]:
    found = []
    for pod in reading.alive(evidence.pods):
        for kind in ("initContainerStatuses", "containerStatuses"):
            for each in (pod.get("status") or {}).get(kind) or ():
                ended = (each.get("lastState") or {}).get("terminated") or (each.get("state") or {}).get("terminated")
                if ended and _code(ended) and each.get("restartCount") and not _recovered(evidence, each):
                    field = f"status.{kind}[{each['name']}].lastState.terminated"
                    found.append(Crash(pod, str(each["name"]), ended, field, int(each["restartCount"])))
    return found


def _recovered(evidence: Evidence, status: Obj) -> bool:
    running = (status.get("state") or {}).get("running")
    since = instant((running or {}).get("startedAt"))
    return since is not None and evidence.now - since >= _STEADY


def _code(ended: Obj) -> int:
    return int(ended.get("exitCode") or 0)


def _signal(ended: Obj) -> str:
    code = _code(ended)
    number = int(ended.get("signal") or 0) or (code - 128 if code in _BY_SIGNAL else 0)
    return signal.Signals(number).name if number in signal.valid_signals() and number else ""
