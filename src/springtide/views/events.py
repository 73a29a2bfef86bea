# SPDX-License-Identifier: Apache-2.0
"""Events of a job and its instances."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from springtide.views.jobs import JobView
from springtide.views.pages.ages import instant
from springtide.views.pages.tables import printable

Obj = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EventView:
    kind: str
    name: str
    type: str
    reason: str
    message: str
    """In one line."""
    last: datetime | None
    """When it happened last."""
    count: int


def events_of(view: JobView, events: Iterable[Obj]) -> list[EventView]:
    """Those about the job and its instances among these, the job's first, each object's in order of time."""
    uids = [view.uid, *(each.uid for each in view.instances)]
    places = {uid: place for place, uid in enumerate(uids)}
    found = [(places[uid], _event(each)) for each in events if (uid := _about(each).get("uid")) in places]
    ordered = sorted(found, key=lambda each: (each[0], each[1].last.timestamp() if each[1].last else 0.0))
    return [event for _, event in ordered]


def _about(event: Obj) -> Obj:
    found: Obj = event.get("involvedObject") or event.get("regarding") or {}
    return found


def _event(event: Obj) -> EventView:
    series = event.get("series") or {}
    times = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    created = event["metadata"].get("creationTimestamp")
    about = _about(event)
    return EventView(
        kind=about.get("kind", ""),
        name=about.get("name", ""),
        type=event.get("type") or "",
        reason=event.get("reason") or "",
        message=printable(" ".join((event.get("message") or event.get("note") or "").split())),
        last=next((moment for each in times if (moment := instant(each)) is not None), instant(created)),
        count=series.get("count") or event.get("count") or 1,
    )
