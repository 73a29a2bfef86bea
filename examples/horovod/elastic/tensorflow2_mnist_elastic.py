# SPDX-License-Identifier: Apache-2.0
"""Elastic training with Horovod and TensorFlow 2, on digits that are drawn here: nothing is downloaded.

    horovodrun -np 2 --min-np 1 --max-np 3 --host-discovery-script /etc/mpi/discover_hosts.sh \
        python /examples/elastic/tensorflow2_mnist_elastic.py

Every batch is committed, so workers may come and go at any moment and no step that was told of is lost:

    step 7 size 2 examples 448 loss 1.9021        by rank 0, for each step
    rank 1 of 3 on tensorflow-mnist-elastic-worker-2 from step 7        by every rank, after each change of size

BATCHES says how many steps there are, or names a file that says so and may change meanwhile; PAUSE is a rest in seconds
after each.
"""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

import horovod.tensorflow as hvd  # type: ignore[import-not-found,unused-ignore]
import numpy as np
import tensorflow as tf  # type: ignore[import-not-found,unused-ignore]

BATCHES = os.environ.get("BATCHES", "60")
PAUSE = float(os.environ.get("PAUSE", "0.05"))
BATCH_SIZE = 32
PATTERNS = np.random.default_rng(0).random((10, 28, 28, 1), dtype=np.float32)
"""One per digit, the same for everybody; an example is one of them in noise."""


def drawn(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    digits = random.integers(0, 10, BATCH_SIZE)
    noise = random.normal(0.0, 0.2, (BATCH_SIZE, 28, 28, 1)).astype(np.float32)
    return PATTERNS[digits] + noise, digits


def made() -> tf.keras.Model:
    layers = tf.keras.layers
    shown = layers.Conv2D(8, 3, strides=2, activation="relu", input_shape=(28, 28, 1))
    return tf.keras.Sequential([shown, layers.Flatten(), layers.Dense(10)])


def wanted(step: int) -> bool:
    """Whether there is another step. Rank 0 knows, and the others ask it: all must end together."""
    batches = Path(BATCHES).read_text() if BATCHES.startswith("/") else BATCHES
    return bool(hvd.broadcast_object(step < int(batches), root_rank=0))


def learn(model: tf.keras.Model, optimizer: tf.keras.optimizers.Optimizer, random: np.random.Generator) -> float:
    images, digits = drawn(random)
    with tf.GradientTape() as tape:
        loss = tf.keras.losses.sparse_categorical_crossentropy(digits, model(images), from_logits=True)
        loss = tf.reduce_mean(loss)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(
        zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True)
    )
    return float(hvd.allreduce(loss))


@hvd.elastic.run
def train(state: hvd.elastic.TensorFlowKerasState) -> None:
    print(f"rank {hvd.rank()} of {hvd.size()} on {socket.gethostname()} from step {state.step}", flush=True)
    random = np.random.default_rng([state.step, hvd.rank()])
    while wanted(state.step):
        loss = learn(state.model, state.optimizer, random)
        state.step += 1
        state.examples += BATCH_SIZE * hvd.size()
        if hvd.rank() == 0:
            print(f"step {state.step} size {hvd.size()} examples {state.examples} loss {loss:.4f}", flush=True)
        state.commit()  # keeps the step, and then looks whether the hosts have changed
        time.sleep(PAUSE)


def main() -> None:
    hvd.init()
    model, optimizer = made(), tf.keras.optimizers.legacy.SGD(0.05)
    # Makes the optimizer's own variables: a newcomer must have as many to receive as the others have to give.
    optimizer.apply_gradients([(tf.zeros_like(variable), variable) for variable in model.trainable_variables])
    train(hvd.elastic.TensorFlowKerasState(model, optimizer, step=0, examples=0))
    if hvd.rank() == 0:
        print("done", flush=True)


if __name__ == "__main__":
    main()
