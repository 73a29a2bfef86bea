# SPDX-License-Identifier: Apache-2.0
"""What a launcher's log says about training: tiderun's lines of progress, and what examples/elastic/digits.py prints.

{"springtide":"progress","at":"…","size":2,"hosts":["digits-worker-0","digits-worker-1"],"step":40,"loss":0.25}
[0]<stdout>:step 40 of 480 loss 0.2500 size 2 samples/s 800
[0]<stdout>:from 2 ranks to 3 after step 41: 0.020 s without a step
[0]<stdout>:back from step 87 to 85 with 2 ranks: 0.210 s without a step
[0]<stdout>:step 480 accuracy 0.958 size 1
"""

from __future__ import annotations

import json
import re
from collections import deque
from dataclasses import dataclass, field

RANK = re.compile(r"\[\d+\]<stdout>:")
STEP = re.compile(r"step (\d+) of (\d+) loss (\S+) size (\d+) samples/s (\d+)")
RESIZE = re.compile(r"from (\d+) ranks to (\d+) after step (\d+): (\S+) s without a step")
DEATH = re.compile(r"back from step (\d+) to (\d+) with (\d+) ranks: (\S+) s without a step")
ACCURACY = re.compile(r"step \d+ accuracy (\S+) size \d+")


@dataclass(frozen=True)
class Change:
    """Workers came, went or died."""

    step: int
    """The last one before it; after a death, the commit that the others went back to."""
    size: int
    """From then on."""
    before: int
    seconds: float
    """Without a step, as seen by rank 0."""
    lost: int | None = None
    """Steps that are trained again, after a death."""

    def __str__(self) -> str:
        pause = f"{self.seconds * 1000:.0f} ms without a step"
        if self.lost is None:
            return f"{self.before} → {workers(self.size)} at step {self.step}: {pause}"
        lost = f"{self.lost} step{'s' * (self.lost != 1)} lost"
        return f"{workers(self.size)} go{'es' * (self.size == 1)} on from step {self.step}: {lost}, {pause}"


@dataclass
class Training:
    step: int = 0
    last: int = 0
    """The step that ends it."""
    loss: float = 0.0
    rate: int = 0
    """Samples a second."""
    size: int = 0
    hosts: list[str] = field(default_factory=list)
    """That train together."""
    coming: list[str] = field(default_factory=list)
    """That any other process of the job is on."""
    losses: list[tuple[int, float]] = field(default_factory=list)
    """By step. What is trained again is there only once."""
    changes: list[Change] = field(default_factory=list)
    accuracy: float | None = None
    words: deque[str] = field(default_factory=lambda: deque(maxlen=8))
    """The last of everything."""

    def read(self, line: str) -> Change | None:
        """What has changed with this line, if anything has."""
        self.words.append(line)
        if line.startswith('{"springtide":"progress"'):
            self._progress(json.loads(line))
            return None
        if not (prefix := RANK.match(line)):
            return None
        text = line[prefix.end() :]
        if found := STEP.fullmatch(text):
            self._stepped(found)
        elif found := ACCURACY.fullmatch(text):
            self.accuracy = float(found[1])
        elif found := RESIZE.fullmatch(text):
            return self._changed(Change(int(found[3]), int(found[2]), int(found[1]), float(found[4])))
        elif found := DEATH.fullmatch(text):
            lost = int(found[1]) - int(found[2])
            return self._changed(Change(int(found[2]), int(found[3]), self.size, float(found[4]), lost))
        return None

    def _progress(self, said: dict[str, object]) -> None:
        hosts = [str(host).partition(".")[0] for host in said["hosts"]]  # type: ignore[attr-defined]
        if len(hosts) == said["size"]:
            self.hosts = hosts
        self.hosts = [host for host in self.hosts if host in hosts]
        self.coming = [host for host in hosts if host not in self.hosts]

    def _stepped(self, found: re.Match[str]) -> None:
        self.step, self.last, self.size, self.rate = (int(found[number]) for number in (1, 2, 4, 5))
        self.loss = float(found[3])
        self.losses.append((self.step, self.loss))

    def _changed(self, change: Change) -> Change:
        self.losses = [(step, loss) for step, loss in self.losses if step <= change.step]
        self.step, self.size = change.step, change.size
        self.changes.append(change)
        return change


def workers(count: int) -> str:
    return f"{count} worker{'s' * (count != 1)}"
