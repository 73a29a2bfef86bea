# SPDX-License-Identifier: Apache-2.0
"""Learns to read handwritten digits, with as many workers as there happen to be. NumPy; Springtide has the digits.

    python digits.py                                                   alone
    tiderun -np 2 -H localhost:2 python digits.py                      two ranks on this machine
    tiderun -np 2 --min-np 1 --max-np 3 --host-discovery-script ./hosts.sh python digits.py

`--pause 0.002` makes every sample take as long as in a larger network, and leaves time to change the hosts meanwhile:
training takes a second otherwise. With the same batches the result is the same, whatever the size was.
digits.yaml is the same as a job, and `make demo` shows what may happen to it.
"""

from __future__ import annotations

import argparse
import time
from collections import deque
from pathlib import Path

from springtide import elastic
from springtide.stand_ins import digits, network

BATCH = 128  # of all ranks together: a step is the same step whatever the size
COMMIT = 5  # steps that a death may cost
RATE = 0.2
OFTEN = 0.25  # seconds between two lines
SMOOTH = 6  # steps whose losses are told as one


class Diary:
    """What rank 0 tells: how far it has come, and for how long resizes and deaths kept it from the next step.

    All ranks keep one, because any of them may become rank 0.
    """

    def __init__(self, last: int) -> None:
        self._last = last
        self._step, self._size, self._ended = 0, 0, 0.0
        self._is_back = False
        self._told, self._samples, self._losses = 0.0, 0, deque[float](maxlen=SMOOTH)

    def begin(self) -> None:
        """Whoever has trained before begins anew because somebody died."""
        self._is_back = self._step > 0

    def note(self, step: int, loss: float, samples: int, paused: float) -> None:
        """After every step, of which `paused` seconds were spent on purpose."""
        before, size, ended = self._step, self._size, self._ended
        self._step, self._size, self._ended = step, elastic.size(), time.monotonic()
        self._samples += samples
        self._losses.append(loss)
        without = f"{self._ended - ended - paused:.3f} s without a step"
        if self._is_back:
            self._is_back = False
            say(f"back from step {before} to {step - 1} with {self._size} ranks: {without}")
        elif size not in (0, self._size):
            say(f"from {size} ranks to {self._size} after step {before}: {without}")
        if not ended:
            self._told = self._ended  # how long the first one took is unknown
        elif self._ended - self._told >= OFTEN or step == self._last:
            self._tell()

    def _tell(self) -> None:
        """How fast it was since the last line, and the loss of the last steps."""
        rate, loss = self._samples / (self._ended - self._told), sum(self._losses) / len(self._losses)
        self._told, self._samples = self._ended, 0
        say(f"step {self._step} of {self._last} loss {loss:.4f} size {self._size} samples/s {rate:.0f}")


def say(text: str) -> None:
    """Once, not once by each rank."""
    if elastic.rank() == 0:
        print(text, flush=True)


def rest(pause: str, samples: int) -> float:
    """Sleep, and say for how long."""
    seconds = samples * float(Path(pause).read_text() if pause.startswith("/") else pause)
    time.sleep(seconds)
    return seconds


def asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Learns to read handwritten digits, with any number of workers.")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--pause", default="0", metavar="SECONDS", help="for every sample, or a file that says so")
    parser.add_argument("--checkpoint", metavar="DIR", help="where a run that nobody survives goes on from")
    parser.add_argument("--scale-rate", action="store_true", help="let the learning rate follow the size")
    return parser.parse_args()


def main() -> None:
    options = asked()
    (pixels, labels), unseen = digits.parted()

    diary = Diary(options.epochs * -(-len(labels) // BATCH))
    state = elastic.State(
        checkpoint=options.checkpoint,
        weights=network.fresh(),
        sampler=elastic.Sampler(len(labels), batch=BATCH),
        rate=RATE,
        step=0,
    )

    @elastic.on_resize
    def rescale(old: int, new: int) -> None:
        """All ranks call it, newcomers too. The total batch stays the same here, so that the rate need not change."""
        if options.scale_rate:
            state.rate *= new / old

    @elastic.run
    def train(state: elastic.State) -> None:
        diary.begin()
        while state.sampler.epoch < options.epochs:
            for share in state.sampler:
                mine, lost = network.learned(state.weights, pixels[share], labels[share])
                paused = rest(options.pause, len(share))
                gradient, loss = elastic.allreduce((mine, lost), weight=len(share))
                for name, weight in state.weights.items():
                    weight -= state.rate * gradient[name]
                state.step += 1
                samples = len(share) * elastic.size()
                elastic.report(step=state.step, loss=loss, samples=samples)
                diary.note(state.step, float(loss), samples, paused)
                if state.step % COMMIT:
                    state.check()  # workers may come and go here, too
                else:
                    state.commit()

    train(state)
    say(f"step {state.step} accuracy {network.accuracy(state.weights, *unseen):.3f} size {elastic.size()}")


if __name__ == "__main__":
    main()
