# SPDX-License-Identifier: Apache-2.0
"""Reads pods, conditions and events: short answers to what explanations ask of objects."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from springtide.messages import Text, text
from springtide.views.explaining.evidence import Evidence, Fact, Obj

_LONGEST: Final = 400
_COMMAND: Final = re.compile(r"\btide (?:node|env) [a-z].*?(?=;|\. |, or |\n|$)")
_ENDED: Final = ("Succeeded", "Failed")


class Held(NamedTuple):
    """A container that does not run, or a pod, and what its status says of it."""

    pod: Obj
    container: str
    reason: str
    message: str
    field: str
    """Where the pod says so."""

    @property
    def fact(self) -> Fact:
        said = f"{self.reason}: {self.message}" if self.message else self.reason
        return Fact(f"pod/{name(self.pod)}", self.field, one_line(said))


def name(obj: Obj) -> str:
    return str(obj["metadata"]["name"])


def one_line(said: str) -> str:
    """Terminals obey control characters, and messages of kubelets and programs may have any."""
    plain = "".join(each if each.isprintable() else " " for each in said)
    short = " ".join(plain.split())
    return short if len(short) <= _LONGEST else f"{short[: _LONGEST - 1]}…"


def clause(said: str) -> str:
    """A message as a part of a sentence: without its full stop, and without the command at its end."""
    return one_line(said.partition("; see kubectl ")[0]).rstrip(".")


def command_in(message: str) -> str:
    """The `tide` command that a message of the embedded cluster ends with."""
    found = _COMMAND.findall(" ".join(message.split()))
    return str(found[-1]).rstrip(".").strip() if found else ""


def clock(at: datetime, now: datetime) -> str:
    there = at.astimezone(UTC)
    return f"{there:%H:%M:%S} UTC" if there.date() == now.astimezone(UTC).date() else f"{there:%Y-%m-%d %H:%M:%S} UTC"


def condition(obj: Obj, type_: str) -> Obj | None:
    """The condition of this type, whether it holds or not."""
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return next((each for each in conditions if each.get("type") == type_), None)


def alive(pods: Iterable[Obj]) -> list[Obj]:
    return [pod for pod in pods if not ended(pod) and not pod["metadata"].get("deletionTimestamp")]


def ended(pod: Obj) -> bool:
    return (pod.get("status") or {}).get("phase") in _ENDED


def node_of(pod: Obj) -> str:
    return str((pod.get("spec") or {}).get("nodeName") or "")


def unplaced(evidence: Evidence) -> list[Held]:
    """Pods that the scheduler found no node for."""
    return [Held(pod, "", reason, message, _SCHEDULED) for pod, reason, message in _unscheduled(evidence)]


_SCHEDULED: Final = "status.conditions[PodScheduled]"


def _unscheduled(evidence: Evidence) -> Iterator[tuple[Obj, str, str]]:
    for pod in alive(evidence.pods):
        found = condition(pod, "PodScheduled")
        if not node_of(pod) and found is not None and found.get("status") == "False":
            yield pod, str(found.get("reason") or ""), str(found.get("message") or "")


def waiting(evidence: Evidence) -> Iterator[Held]:
    """Containers that wait, with the kubelet's reason."""
    for pod in alive(evidence.pods):
        for kind in ("initContainerStatuses", "containerStatuses"):
            for each in (pod.get("status") or {}).get(kind) or ():
                state = (each.get("state") or {}).get("waiting")
                if state and state.get("reason"):
                    message, field = str(state.get("message") or ""), f"status.{kind}[{each['name']}].state.waiting"
                    yield Held(pod, str(each["name"]), str(state["reason"]), message, field)


def containers(pod: Obj) -> list[Obj]:
    spec = pod.get("spec") or {}
    return [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]


def container(pod: Obj, called: str) -> Obj:
    return next((each for each in containers(pod) if each.get("name") == called), {})


def statuses(pod: Obj) -> list[Obj]:
    status = pod.get("status") or {}
    return [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]


def warnings(evidence: Evidence, about: str, *reasons: str) -> list[Obj]:
    """Warning events about the object of this name, newest first."""
    return [
        each
        for each in newest(evidence.events)
        if (each.get("involvedObject") or {}).get("name") == about
        and each.get("type") == "Warning"
        and (not reasons or each.get("reason") in reasons)
    ]


def newest(events: Sequence[Obj]) -> list[Obj]:
    return sorted(events, key=_when, reverse=True)


def _when(event: Obj) -> str:
    series = (event.get("series") or {}).get("lastObservedTime")
    found = series or event.get("lastTimestamp") or event.get("eventTime") or event["metadata"].get("creationTimestamp")
    return str(found or "")


def of_event(event: Obj) -> Fact:
    about = event.get("involvedObject") or {}
    said = one_line(f"{event.get('reason')}: {event.get('message')}")
    return Fact(f"{str(about.get('kind') or 'object').lower()}/{about.get('name')}", "event", said)


def who(pods: Sequence[Obj]) -> Text:
    """`pi-worker-0`, or `pi-worker-0 and 2 more pods`."""
    first, more = name(pods[0]), len(pods) - 1
    if not more:
        return text("{pod}", pod=first)
    if more == 1:
        return text("{pod} and 1 more pod", pod=first)
    return text("{pod} and {more} more pods", pod=first, more=more)
