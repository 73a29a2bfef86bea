# SPDX-License-Identifier: Apache-2.0
"""Deletes events one hour after they were last written."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from springtide.kube.client import Client
from springtide.kube.controller import Controller, Result
from springtide.kube.errors import NotFound
from springtide.kube.events import EventRecorder
from springtide.kube.informer import Informers
from springtide.kube.request import DeleteOptions
from springtide.kube.resources import EVENTS, Key
from springtide.local.controller_manager.timestamps import Clock, utc_now

COMPONENT = "event-expiry-controller"
LIFETIME = timedelta(hours=1)


class Metadata(msgspec.Struct, frozen=True, gc=False):
    uid: str
    resourceVersion: str
    creationTimestamp: datetime


class Series(msgspec.Struct, frozen=True, gc=False):
    lastObservedTime: datetime | None = None


class EventTimes(msgspec.Struct, frozen=True, gc=False):
    """The fields of an event that determine its expiry."""

    metadata: Metadata
    lastTimestamp: datetime | None = None
    series: Series | None = None


def time_left(event: EventTimes, now: datetime) -> timedelta:
    """Zero or less when the event has expired. Future times are ignored, because the event would never expire."""
    observed = None if event.series is None else event.series.lastObservedTime
    believed = [time for time in (event.lastTimestamp, observed) if time is not None and time <= now]
    return max([event.metadata.creationTimestamp, *believed]) + LIFETIME - now


def controller(
    informers: Informers, client: Client, _recorder: EventRecorder, clock: Clock = utc_now
) -> Controller[Key]:
    async def reconcile(key: Key) -> Result | None:
        event = events.get(key)
        if event is None:
            return None
        left = time_left(event, clock())
        if left > timedelta():
            return Result(requeue_after=left.total_seconds())
        try:
            # With the version, so that an event that was just updated is kept for another hour.
            metadata = event.metadata
            await client.delete(EVENTS, key, DeleteOptions(uid=metadata.uid, version=metadata.resourceVersion))
        except NotFound:
            return None
        return None

    found: Controller[Key] = Controller("event expiry", reconcile)
    events = informers.of(EVENTS, into=EventTimes)
    found.watches(events)
    return found
