# SPDX-License-Identifier: Apache-2.0
"""Elastic training with TensorFlow 2, in the shape of Horovod's example of the same name; digits are drawn here.

    tiderun -np 2 --min-np 1 --max-np 4 --host-discovery-script ./discover_hosts.sh python tensorflow2_mnist_elastic.py

A program written for Horovod says `import horovod.tensorflow as hvd`; the rest is the same.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np
import tensorflow as tf

import springtide.elastic.horovod.tensorflow as hvd

parser = argparse.ArgumentParser(description="TensorFlow digits, elastic")
parser.add_argument("--batches", type=int, default=400, metavar="N", help="steps times ranks (400)")
parser.add_argument("--batch-size", type=int, default=32, metavar="N", help="samples per step and rank (32)")
parser.add_argument("--lr", type=float, default=0.001, metavar="LR", help="learning rate of one rank (0.001)")
parser.add_argument(
    "--pause", default="0", metavar="S", help="seconds to rest after a step, or a file that says so (0)"
)
args = parser.parse_args()

hvd.init()
gpus = tf.config.list_physical_devices("GPU")
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
    tf.config.set_visible_devices(gpus[hvd.local_rank() % len(gpus)], "GPU")


def drawn(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Ten patterns, and as many noisy examples of them."""
    random = np.random.default_rng(7)
    patterns = random.random((10, 28, 28, 1), dtype=np.float32)
    digits = random.integers(0, 10, count)
    noise = np.random.default_rng(hvd.rank()).normal(0.0, 0.3, (count, 28, 28, 1)).astype(np.float32)
    return patterns[digits] + noise, digits


dataset = tf.data.Dataset.from_tensor_slices(drawn(4096)).repeat().shuffle(1000).batch(args.batch_size)
model = tf.keras.Sequential(
    [
        tf.keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
        tf.keras.layers.Conv2D(32, 3, strides=2, activation="relu"),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(64, activation="relu"),
        tf.keras.layers.Dense(10, activation="softmax"),
    ]
)
loss = tf.losses.SparseCategoricalCrossentropy()
opt = tf.optimizers.Adam(args.lr * hvd.size())


@tf.function
def training_step(images: tf.Tensor, labels: tf.Tensor, allreduce: bool = True) -> tf.Tensor:
    with tf.GradientTape() as tape:
        loss_value = loss(labels, model(images, training=True))
    if allreduce:
        tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss_value, model.trainable_variables)
    opt.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss_value


# One step alone makes the variables of the model and of the optimizer, so that they can be handed on. To trace the
# other kind of step now spares the others a wait for a newcomer's first one.
for images, labels in dataset.take(1):
    training_step(images, labels, allreduce=False)
    training_step.get_concrete_function(images, labels)


def rest() -> None:
    """To watch it, and to have something to wait for: a file may change meanwhile."""
    time.sleep(float(Path(args.pause).read_text() if args.pause.startswith("/") else args.pause))


@hvd.elastic.run
def train(state: hvd.elastic.TensorFlowKerasState) -> None:
    print(f"rank {hvd.rank()} of {hvd.size()} trains from batch {state.batch} pid {os.getpid()}", flush=True)
    for images, labels in dataset:
        if state.batch >= args.batches:
            break
        loss_value = training_step(images, labels)
        state.batch += hvd.size()
        state.step += 1
        if state.step % 10 == 0 and hvd.rank() == 0:
            rate = float(opt.learning_rate)
            print(f"step {state.step} size {hvd.size()} lr {rate:g} loss {float(loss_value):.4f}", flush=True)
        rest()
        if state.step % 10 == 0:
            state.commit()
        else:
            state.check_host_updates()


def on_state_reset() -> None:
    """The total batch grows with the ranks, and the learning rate with it."""
    opt.lr.assign(args.lr * hvd.size())


state = hvd.elastic.TensorFlowKerasState(model, opt, batch=0, step=0)
state.register_reset_callbacks([on_state_reset])
train(state)
if hvd.rank() == 0:
    print(f"done after {state.step} steps", flush=True)
