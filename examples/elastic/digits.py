# SPDX-License-Identifier: Apache-2.0
"""Learns to read handwritten digits, with as many workers as there happen to be: NumPy, and scikit-learn for its data.

    python digits.py                                                   alone
    tiderun -np 2 -H localhost:2 python digits.py                      two ranks on this machine
    tiderun -np 2 --min-np 1 --max-np 3 --host-discovery-script ./hosts.sh python digits.py

`--pause 0.1` leaves time to change the hosts meanwhile: training takes a second otherwise. With the same batches the
result is the same, whatever the size was. digits.yaml is the same as a job.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np

from springtide import elastic

try:
    from sklearn.datasets import load_digits
except ImportError:
    sys.exit("digits.py trains on scikit-learn's digits: pip install scikit-learn")

BATCH = 128  # of all ranks together: a step is the same step whatever the size
COMMIT = 5  # steps that a death may cost
RATE = 0.5


def network(seed: int = 0) -> dict[str, Any]:
    """64 pixels, 64 hidden, 10 digits."""
    chance = np.random.default_rng(seed)
    return {
        "hidden": chance.normal(0, 1 / 8, (64, 64)),
        "hidden bias": np.zeros(64),
        "digit": chance.normal(0, 1 / 8, (64, 10)),
        "digit bias": np.zeros(10),
    }


def read(weights: dict[str, Any], pixels: Any) -> tuple[Any, Any]:
    """What the hidden layer makes of pixels, and how likely each digit is."""
    hidden = np.maximum(pixels @ weights["hidden"] + weights["hidden bias"], 0)
    scores = hidden @ weights["digit"] + weights["digit bias"]
    likely = np.exp(scores - scores.max(axis=1, keepdims=True))
    return hidden, likely / likely.sum(axis=1, keepdims=True)


def learned(weights: dict[str, Any], pixels: Any, digits: Any) -> tuple[dict[str, Any], float]:
    """The mean gradient and loss of some samples; zeros for none, which happens at the end of an epoch."""
    count = max(len(digits), 1)
    hidden, likely = read(weights, pixels)
    loss = -np.log(likely[np.arange(len(digits)), digits] + 1e-12).sum() / count
    wrong = (likely - np.eye(10)[digits]) / count
    back = (wrong @ weights["digit"].T) * (hidden > 0)
    gradient = {
        "hidden": pixels.T @ back,
        "hidden bias": back.sum(axis=0),
        "digit": hidden.T @ wrong,
        "digit bias": wrong.sum(axis=0),
    }
    return gradient, float(loss)


def accuracy(weights: dict[str, Any], pixels: Any, digits: Any) -> float:
    _, likely = read(weights, pixels)
    return float((likely.argmax(axis=1) == digits).mean())


def asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Learns to read handwritten digits, with any number of workers.")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--pause", type=float, default=0.0, metavar="SECONDS", help="after every step")
    parser.add_argument("--checkpoint", metavar="DIR", help="where a run that nobody survives goes on from")
    parser.add_argument("--scale-rate", action="store_true", help="let the learning rate follow the size")
    return parser.parse_args()


def main() -> None:
    options = asked()
    data = load_digits()
    pixels, digits = data.data / 16, data.target
    tested = np.arange(len(digits)) % 5 == 0  # which training never sees
    unseen, (pixels, digits) = (pixels[tested], digits[tested]), (pixels[~tested], digits[~tested])

    state = elastic.State(
        checkpoint=options.checkpoint,
        weights=network(),
        sampler=elastic.Sampler(len(digits), batch=BATCH),
        rate=RATE,
        step=0,
    )

    @elastic.on_resize
    def rescale(old: int, new: int) -> None:
        """All ranks call it, newcomers too. The total batch stays the same here, so that the rate need not change."""
        if options.scale_rate:
            state.rate *= new / old
        say(f"from {old} ranks to {new}: learning rate {state.rate:g}")

    @elastic.run
    def train(state: elastic.State) -> None:
        while state.sampler.epoch < options.epochs:
            for share in state.sampler:
                mine, lost = learned(state.weights, pixels[share], digits[share])
                gradient, loss = elastic.allreduce((mine, lost), weight=len(share))
                for name, weight in state.weights.items():
                    weight -= state.rate * gradient[name]
                state.step += 1
                elastic.report(step=state.step, loss=loss, samples=len(share) * elastic.size())
                if state.step % 20 == 0:
                    say(f"step {state.step} loss {float(loss):.4f} size {elastic.size()}")
                time.sleep(options.pause)
                if state.step % COMMIT:
                    state.check()  # workers may come and go here, too
                else:
                    state.commit()

    train(state)
    say(f"step {state.step} accuracy {accuracy(state.weights, *unseen):.3f} size {elastic.size()}")


def say(text: str) -> None:
    """Once, not once by each rank."""
    if elastic.rank() == 0:
        print(text, flush=True)


if __name__ == "__main__":
    main()
