# SPDX-License-Identifier: Apache-2.0
"""The shared code of all stand-ins: they introduce themselves, and train elastically on digits.

The ranks of `horovodrun`, `tiderun` and `mpirun` train together; a program that is started alone trains alone. Training
is slowed down so that users can watch it: the variable SPRINGTIDE_SECONDS is its approximate duration with two ranks,
and 0 is as fast as possible.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from pathlib import PurePath

from springtide import elastic
from springtide.stand_ins import digits, network

SECONDS = "SPRINGTIDE_SECONDS"
BATCH = 64
"""Samples of all ranks together: a step is the same with any number of ranks."""
RATE = 0.2
OFTEN = 10
"""Steps between two progress lines."""
_MNIST = (
    "Horovod's example of this name",
    "It trains a network of 64 hidden units with NumPy on 1,797 handwritten digits; TensorFlow and MNIST are not used.",
)


def introduce(stands_for: str, instead: str) -> None:
    """The first line of a stand-in, printed by the first rank."""
    if elastic.rank() == 0:
        name = PurePath(sys.argv[0]).name
        say(f"{name}: a stand-in that comes with Springtide, for {stands_for}. {instead}")


def say(text: str) -> None:
    print(text, flush=True)


def mnist(seconds: float, epochs: int) -> None:
    """Train to recognize digits. Every host prints its steps, as Horovod's examples do."""
    introduce(*_MNIST)
    seen, unseen = digits.parted()
    pause = _seconds(seconds) / (epochs * len(seen.labels) / 2)
    state = elastic.State(
        weights=network.fresh(), sampler=elastic.Sampler(len(seen.labels), batch=BATCH), rate=RATE, step=0
    )

    @elastic.run
    def train(state: elastic.State) -> None:
        say(f"rank {elastic.rank()} of {elastic.size()} on {socket.gethostname()}, from step {state.step}")
        while state.sampler.epoch < epochs:
            for share in state.sampler:
                mine, lost = network.learned(state.weights, seen.pixels[share], seen.labels[share])
                time.sleep(pause * len(share))
                gradient, loss = elastic.allreduce((mine, lost), weight=len(share))
                for name, weight in state.weights.items():
                    weight -= state.rate * gradient[name]
                state.step += 1
                elastic.report(step=state.step, loss=loss, samples=len(share) * elastic.size())
                if state.step % OFTEN == 0 and elastic.local_rank() == 0:
                    say(f"Step #{state.step}\tLoss: {float(loss):.6f}")
                state.commit()

    train(state)
    if elastic.rank() == 0:
        right = network.accuracy(state.weights, *unseen)
        say(f"Trained {state.step} steps; {right:.1%} of the digits that were kept back are read correctly")


def _seconds(otherwise: float) -> float:
    given = os.environ.get(SECONDS, "")
    try:
        return max(0.0, float(given)) if given else otherwise
    except ValueError:
        sys.exit(f"{SECONDS}={given}: it takes a number of seconds")
