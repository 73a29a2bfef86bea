# SPDX-License-Identifier: Apache-2.0
"""A program that learns, and keeps a book on it: which samples each rank took at which step, in a file for each worker.

    pid 123 worker 4                                    on standard output, before it loads anything
    {"generation": 2, "step": 17, "size": 3, "epoch": 1, "samples": [4, 8]}     a line of the book, before the step
    {"steps": 65, "total": 65.0, "losses": […]}         what a rank that came to the end has learned

It goes no further than the step that a file named `gate` says, where there is one: a test that changes hosts or kills
ranks meanwhile knows at which step it does so.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import time
from pathlib import Path

print(f"pid {os.getpid()} worker {os.environ.get('TIDE_WORKER', '0')}", flush=True)

import numpy as np  # noqa: E402 - a rank may be killed while it loads

from springtide import elastic  # noqa: E402
from springtide.elastic.ranks import context  # noqa: E402

SAMPLES, BATCH = 195, 16  # the last batch of an epoch has three samples: with four ranks one of them gets none
EPOCH = -(-SAMPLES // BATCH)
RATE = 0.3


def data() -> tuple[np.ndarray, np.ndarray]:
    chance = np.random.default_rng(7)
    inputs = chance.normal(size=(SAMPLES, 6))
    return inputs, np.sin(inputs @ chance.normal(size=6))


def network(seed: int) -> dict[str, np.ndarray]:
    chance = np.random.default_rng(seed)
    return {"hidden": chance.normal(0, 0.4, (6, 12)), "out": chance.normal(0, 0.3, 12)}


def learned(
    weights: dict[str, np.ndarray], inputs: np.ndarray, wanted: np.ndarray
) -> tuple[dict[str, np.ndarray], float]:
    """The mean gradient and loss of some samples; zeros for none."""
    hidden = np.tanh(inputs @ weights["hidden"])
    wrong, count = hidden @ weights["out"] - wanted, max(len(wanted), 1)
    back = np.outer(wrong, weights["out"]) * (1 - hidden**2)
    return {"hidden": inputs.T @ back / count, "out": hidden.T @ wrong / count}, float(wrong @ wrong) / count


class Book:
    def __init__(self, folder: Path) -> None:
        worker = os.environ.get("TIDE_WORKER", "0")
        self._lines = open(folder / f"book.{worker}", "a", buffering=1)  # noqa: SIM115 - as long as we live

    def note(self, **words: object) -> None:
        self._lines.write(json.dumps(words) + "\n")


def hold(seconds: float) -> None:
    """As long imports may: nothing else in this process runs meanwhile."""
    ctypes.PyDLL(None).usleep(int(seconds * 1e6))


def waited(gate: Path, step: int) -> None:
    while gate.exists() and int(gate.read_text() or 0) < step:
        time.sleep(0.002)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--commit", type=int, default=1, help="steps from one commit to the next")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds after every step")
    parser.add_argument("--slow", type=Path, help="a file, without which there is no pause")
    parser.add_argument(
        "--loads", type=float, default=0.0, help="seconds that newcomers with an odd number need to join"
    )
    parser.add_argument("--slowly", action="store_true", help="and no thread gets a word in meanwhile")
    parser.add_argument("--busy-at", type=int, help="a step before which the same lasts for 4 seconds")
    parser.add_argument("--checkpoint", type=Path)
    given = parser.parse_args()
    if os.environ.get("TIDE_GENERATION", "0") != "0" and (given.slowly or int(os.environ["TIDE_WORKER"]) % 2):
        (hold if given.slowly else time.sleep)(given.loads)
    inputs, wanted = data()
    book = Book(given.folder)
    state = elastic.State(
        checkpoint=given.checkpoint,
        every=5,
        weights=network(given.seed),
        sampler=elastic.Sampler(SAMPLES, batch=BATCH, seed=given.seed),
        losses=np.zeros(EPOCH * given.epochs),
        total=np.zeros(1000),
        step=0,
    )

    @elastic.run
    def train(state: elastic.State) -> None:
        while state.sampler.epoch < given.epochs:
            for share in state.sampler:
                waited(given.folder / "gate", state.step + 1)
                now = context.current()
                book.note(
                    generation=now.generation,
                    step=state.step + 1,
                    size=now.size,
                    epoch=state.sampler.epoch,
                    samples=share,
                )
                if state.step + 1 == given.busy_at:
                    hold(4)
                mine, lost = learned(state.weights, inputs[share], wanted[share])
                gradient, loss = elastic.allreduce((mine, lost), weight=len(share))
                for name, weight in state.weights.items():
                    weight -= RATE * gradient[name]
                state.total += elastic.allreduce(np.ones(1000))
                state.losses[state.step] = loss
                state.step += 1
                elastic.report(step=state.step, loss=float(loss))
                if given.slow is None or given.slow.exists():
                    time.sleep(given.pause)
                if state.step % given.commit:
                    state.check()
                else:
                    state.commit()

    train(state)
    result = {"steps": state.step, "total": float(state.total.mean()), "losses": state.losses.tolist()}
    (given.folder / f"learned.{os.getpid()}").write_text(json.dumps(result))
    print(f"the end of {elastic.size()}", flush=True)


if __name__ == "__main__":
    main()
