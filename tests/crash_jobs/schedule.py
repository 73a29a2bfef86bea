# SPDX-License-Identifier: Apache-2.0
"""What happens in a round, drawn from a seed: who is killed, resized, deleted, suspended, and when. Pure."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

KILLS = {"operator": 3, "server": 2, "agent": 2, "supervisor": 1}
CHANGES = {
    "resize": 8,
    "scale": 4,
    "scale out": 5,
    "scale in": 4,
    "cancel a scaler": 1,
    "point at a victim": 2,
    "delete a worker": 2,
    "kill a worker": 3,
    "kill a worker's shim": 1,
    "finish a worker": 2,
    "delete the launcher": 1,
    "kill the launcher": 1,
    "suspend": 1,
    "recreate": 1,
    "cordon": 1,
    "drain": 1,
    "reclaim": 1,
    "uncordon": 1,
    "tide down": 2,
}
"""What happens, and how often in relation to the others."""
BY_OBJECT = frozenset({"scale out", "scale in", "cancel a scaler"})
"""Done to jobs that scalers resize, whichever job it was to be."""
ONCE = frozenset({"kill the launcher", "reclaim", "recreate", "suspend", "tide down"})
"""Each costs a back-off or a whole start: at most one of them in a round."""
ENDINGS = ((), ("--grace", "1s"), ("--grace", "0"), ("--keep-pods",))
"""How `tide down` is called, before the next `tide up`."""
MOST_KILLS = 5
"""Of the operator in a round: whoever dies again and again is started after longer and longer pauses."""
STEADY = "one"
"""The node that nothing happens to: there is always room somewhere."""
SHAKY = "two"
SPOT = "three"
NODES = {STEADY: "cpu:16,memory:32Gi", SHAKY: "cpu:16,memory:32Gi", SPOT: "cpu:16,memory:32Gi,spot"}


@dataclass(frozen=True)
class Act:
    after: float
    """Seconds since the one before."""
    what: str
    job: str = ""
    number: int = 0
    """Chooses among what is there by then: a worker, a node, a size; and after how many writes the operator dies."""
    calm: bool = False
    """Whether all jobs are to be as they are wanted before it, if they get there in a few seconds."""


def drawn(chance: random.Random, jobs: Sequence[str], scaled: Sequence[str] = ()) -> list[Act]:
    """More happens to the first job than to others."""
    weights = KILLS | CHANGES
    acts: list[list[Act]] = []
    for what in chance.choices(list(weights), list(weights.values()), k=chance.randint(10, 18)):
        if what in ONCE and any(act.what == what for act in chain(*acts)):
            continue
        after = chance.choice((0.0, chance.uniform(0, 0.3), chance.uniform(0, 2.0)))
        job = chance.choice((jobs[0], *jobs))
        if what in BY_OBJECT and scaled:
            job = chance.choice(scaled)
        act = Act(after, what, job, chance.randrange(1000), chance.random() < 0.3)
        acts.append(_followed(chance, act))
    return list(_bearable(chain(*acts)))


def _bearable(acts: Iterable[Act]) -> Iterator[Act]:
    left = MOST_KILLS
    for act in acts:
        left -= act.what == "operator"
        if act.what != "operator" or left >= 0:
            yield act


def _followed(chance: random.Random, act: Act) -> list[Act]:
    """A change that has the operator at work is often the moment at which it is killed."""
    if act.what in KILLS or chance.random() < 0.5:
        return [act]
    return [act, Act(0.0, "operator", number=chance.randrange(10))]
