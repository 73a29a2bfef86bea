# SPDX-License-Identifier: Apache-2.0
"""What happens in a round, drawn from a seed: who is killed or stopped, which hosts there are, and when. Pure."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

ACTS = {
    "resize": 6,
    "kill a rank": 3,
    "kill an agent": 2,
    "kill a newcomer": 2,
    "stop a rank": 1,
    "stop an agent": 1,
    "pause a rank": 1,
    "pause the launcher": 1,
    "kill the launcher": 1,
    "the script fails": 1,
    "the script prints nonsense": 1,
    "the script repeats itself": 1,
    "the script flaps": 1,
    "the script hangs": 1,
}
"""And how often in relation to the others."""
CABLES = {"cut a cable": 3, "part two machines": 2}
"""What happens to machines that are joined by cables, too."""
ONCE = frozenset({"kill the launcher", "stop a rank", "cut a cable", "part two machines", "the script hangs"})
"""Each costs seconds until it is noticed: at most one of each in a round."""
MOST_SLOTS = 4


@dataclass(frozen=True)
class Act:
    after: float
    """Seconds since the one before."""
    what: str
    number: int
    """Chooses among what is there by then."""
    lasts: float
    """Seconds until it is over, for what passes."""


@dataclass(frozen=True)
class Plan:
    acts: tuple[Act, ...]
    least: int
    """Ranks it takes to go on."""
    commit: int
    """Steps from one commit to the next."""
    checkpoint: bool
    loads: float
    """Seconds that some newcomers take before they join."""


def drawn(chance: random.Random, *, cables: bool) -> Plan:
    weights = ACTS | CABLES if cables else ACTS
    acts: list[Act] = []
    for what in chance.choices(list(weights), list(weights.values()), k=chance.randint(8, 13)):
        if what in ONCE and any(act.what == what for act in acts):
            continue
        after = chance.choice((0.0, 0.05, 0.3, 0.8, 1.2))
        acts.append(Act(after, what, chance.randrange(1000), chance.choice((0.3, 1.0, 2.5, 3.5))))
    restarted = any(act.what == "kill the launcher" for act in acts)
    return Plan(
        tuple(acts),
        least=chance.choice((1, 1, 2)),
        commit=chance.choice((1, 3)),
        checkpoint=restarted or chance.random() < 0.5,
        loads=chance.choice((0.0, 0.0, 2.0)),
    )


def listing(chance: random.Random, hosts: Sequence[str], least: int) -> dict[str, int]:
    """Some of the hosts, with slots enough and not too many."""
    while True:
        chosen = chance.sample(list(hosts), chance.randint(1, len(hosts)))
        found = {host: chance.randint(1, 2) for host in chosen}
        if least <= sum(found.values()) <= MOST_SLOTS:
            return found
