# SPDX-License-Identifier: Apache-2.0
"""Stands in for TensorFlow's example mnist_with_summaries.py: one process that trains and writes event files.

The directory of --log_dir then holds what TensorBoard shows: tensorboard --logdir DIR
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import tensorflow as tf

from springtide.stand_ins import digits, training

STANDS_FOR = "TensorFlow's example of this name"
INSTEAD = (
    "It trains a network of 64 hidden units with TensorFlow on 1,797 handwritten digits; MNIST and "
    "TensorFlow 1 are not used."
)


def asked(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=f"A stand-in for {STANDS_FOR}. {INSTEAD}", allow_abbrev=False)
    parser.add_argument("--log_dir", default="/tmp/tensorflow/mnist/logs/mnist_with_summaries")
    parser.add_argument("--max_steps", type=int, default=500)
    parser.add_argument("--learning_rate", type=float, default=0.001)
    parser.add_argument("--batch_size", type=int, default=100)
    for name in ("--data_dir", "--dropout", "--fake_data"):  # without effect
        parser.add_argument(name, nargs="?", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main() -> None:
    options = asked()
    training.introduce(STANDS_FOR, INSTEAD)
    training.say(f"TensorFlow {tf.__version__}; event files: {options.log_dir}")
    seen, unseen = digits.parted()
    batches = tf.data.Dataset.from_tensor_slices((seen.pixels, seen.labels)).shuffle(len(seen.labels), seed=0).repeat()
    network = tf.keras.Sequential([tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(10)])
    step = training_step(network, tf.keras.optimizers.Adam(options.learning_rate))
    writers = [tf.summary.create_file_writer(str(Path(options.log_dir) / part)) for part in ("train", "test")]

    for number, (pixels, labels) in enumerate(batches.batch(options.batch_size).take(options.max_steps), start=1):
        loss = step(pixels, labels)
        if number == 1 or number % training.OFTEN == 0:
            right = accuracy(network, unseen)
            training.say(f"Step {number}: loss {float(loss):.4f}, accuracy {right:.4f}")
            for writer, name, value in zip(writers, ("loss", "accuracy"), (loss, right), strict=True):
                with writer.as_default(step=number):
                    tf.summary.scalar(name, value)
    for writer in writers:
        writer.close()
    training.say(f"Trained {options.max_steps} steps; accuracy {accuracy(network, unseen):.4f} on digits kept back")


def training_step(network: Any, optimizer: Any) -> Any:
    """A function that trains one batch and returns its mean loss."""

    @tf.function
    def step(pixels: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, network(pixels))
            loss = tf.reduce_mean(losses)
        weights = network.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return loss

    return step


def accuracy(network: Any, data: digits.Digits) -> float:
    read = tf.argmax(network(tf.constant(data.pixels)), axis=1).numpy()
    return float((read == data.labels).mean())


if __name__ == "__main__":
    main()
