# SPDX-License-Identifier: Apache-2.0
"""The log of a run's events and actions, from which its decisions can be replayed. Pure.

One line of JSON for the settings, and one per event:

    {"springtide": "tiderun events", "version": …, "settings": {…}, "began": …, "dropped": 0}
    {"at": …, "type": "RankSent", "worker": 1, "message": {"type": "finished"}, "actions": ["Log(…)"]}

Ticks without effect are left out. Of heartbeats only the last ones before a tick with an effect are kept, all in one
event. So a run that trains for days has few events. The log has the last ones, limited in number and size; it can be
replayed while it has all.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from springtide import __version__
from springtide.elastic.launcher.state_machine.events import (
    AgentConnected,
    AgentLost,
    AgentSent,
    Event,
    Failed,
    Forgotten,
    HostsListed,
    Interrupted,
    LifeSigns,
    RankLost,
    RankSent,
    StartFailed,
    StartGivenUp,
    Ticked,
)
from springtide.elastic.launcher.state_machine.run_actions import RunAction
from springtide.elastic.launcher.state_machine.settings import Settings
from springtide.elastic.launcher.state_machine.workers import Limits
from springtide.elastic.protocol.agent_messages import FROM_AGENT
from springtide.elastic.protocol.codec import Codec
from springtide.elastic.protocol.rank_messages import FROM_RANK
from springtide.elastic.protocol.wire import RefusedError

MOST: Final = 10_000
"""The limit of events."""
MOST_BYTES: Final = 8 << 20
"""The limit of all lines together; one event may name a thousand workers."""
_KIND: Final = "tiderun events"
_LONGEST: Final = 300
"""Characters of an action. A longer one, for instance of a run with a thousand ranks, is cut, with a digest of the
whole."""
_TYPES: Final[tuple[type[Event], ...]] = (
    AgentConnected,
    AgentLost,
    AgentSent,
    Failed,
    Forgotten,
    HostsListed,
    Interrupted,
    LifeSigns,
    RankLost,
    RankSent,
    StartFailed,
    StartGivenUp,
    Ticked,
)
_EVENTS: Final = Codec[Event](
    {type_.__name__: type_ for type_ in _TYPES},
    {
        "FromAgent": (lambda message: FROM_AGENT.head(message)[0], FROM_AGENT.read),
        "FromRank": (lambda message: FROM_RANK.head(message)[0], FROM_RANK.read),
        "Slots": (dict, dict),
        "Times": (dict, lambda times: {int(id_): float(at) for id_, at in times.items()}),
        "float": (float, float),
    },
)


class LogError(ValueError):
    """The text is not a log, or not a complete one."""


class EventLog:
    def __init__(self, settings: Settings, began: float, most: int = MOST, most_bytes: int = MOST_BYTES) -> None:
        self._settings, self._began = settings, began
        self._most, self._most_bytes = most, most_bytes
        self._entries: deque[str] = deque()
        """Lines, in ASCII."""
        self._size = 0
        self._dropped = 0
        self._agents: dict[int, float] = {}
        self._ranks: dict[int, float] = {}
        """Heartbeats since the last tick with an effect."""

    def add(self, now: float, event: Event, actions: Sequence[RunAction]) -> None:
        match event:
            case Ticked() if self._agents or self._ranks:
                self._append(now, LifeSigns(self._agents, self._ranks), ())
                self._agents, self._ranks = {}, {}
            case Forgotten(id_):
                self._agents.pop(id_, None)
                self._ranks.pop(id_, None)
        self._append(now, event, actions)

    def heard(self, event: AgentSent | RankSent, now: float) -> None:
        """Notes a heartbeat."""
        (self._agents if isinstance(event, AgentSent) else self._ranks)[event.worker] = now

    def lines(self) -> Iterator[str]:
        head = {"springtide": _KIND, "version": __version__, "settings": asdict(self._settings)}
        yield json.dumps(head | {"began": self._began, "dropped": self._dropped})
        yield from self._entries

    def _append(self, now: float, event: Event, actions: Sequence[RunAction]) -> None:
        line = json.dumps({"at": now, **_EVENTS.head(event)[0], "actions": [written(each) for each in actions]})
        self._entries.append(line)
        self._size += len(line)
        while len(self._entries) > self._most or self._size > self._most_bytes:
            self._size -= len(self._entries.popleft())
            self._dropped += 1


def written(action: RunAction) -> str:
    text = repr(action)
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST]}… {hashlib.blake2b(text.encode(), digest_size=8).hexdigest()}"


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event, its time, and the actions taken then."""

    at: float
    event: Event
    actions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recording:
    settings: Settings
    began: float
    events: tuple[Recorded, ...]


def read(lines: Iterable[str]) -> Recording:
    """A complete log of a run; LogError for any other."""
    try:
        head, *entries = (json.loads(line) for line in lines)
        kind, dropped, began = head["springtide"], head["dropped"], head["began"]
        recording = Recording(_settings(head["settings"]), began, tuple(map(_recorded, entries)))
    except (KeyError, TypeError, ValueError, RefusedError) as error:
        raise LogError(f"this is no log of tiderun's events: {error}") from error
    if kind != _KIND:
        raise LogError(f"this is no log of tiderun's events but one of {kind}")
    if dropped:
        raise LogError(f"the log has only the last {len(entries)} events: {dropped} before them are missing")
    return recording


def _settings(given: Mapping[str, Any]) -> Settings:
    shortest, longest = given["cooldown"]
    return Settings(**{**given, "limits": Limits(**given["limits"]), "cooldown": (shortest, longest)})


def _recorded(entry: Mapping[str, Any]) -> Recorded:
    event = _EVENTS.read(entry)
    if event is None:
        raise LogError(f"there is no event {entry.get('type')}")
    return Recorded(entry["at"], event, tuple(entry["actions"]))
