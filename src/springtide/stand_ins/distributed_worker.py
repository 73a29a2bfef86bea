# SPDX-License-Identifier: Apache-2.0
"""Stands in for the image distributed_worker: all workers and the chief of a TFJob train one model together.

TF_CONFIG names the cluster and the task of this process. The original turns a Keras model into an Estimator, which
TensorFlow no longer has; its successor is MultiWorkerMirroredStrategy. A parameter server takes no part in that
strategy, so a process with that task only serves, and never ends. Without TF_CONFIG the program trains alone.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
from typing import Any

import tensorflow as tf

from springtide.stand_ins import digits, training

STANDS_FOR = "a worker of TensorFlow's multi-worker example"
INSTEAD = (
    "It trains a network of 64 hidden units with MultiWorkerMirroredStrategy on 1,797 handwritten digits; MNIST and "
    "Estimators, which TensorFlow no longer has, are not used."
)


def asked(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=f"A stand-in for {STANDS_FOR}. {INSTEAD}", allow_abbrev=False)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch_size", type=int, default=64, help="digits of all workers in one step")
    parser.add_argument("--learning_rate", type=float, default=training.RATE)
    return parser.parse_args(arguments)


def main() -> None:
    options = asked()
    training.introduce(STANDS_FOR, INSTEAD)
    config = json.loads(os.environ.get("TF_CONFIG") or "{}")
    task = config.get("task", {"type": "worker", "index": 0})
    training.say(f"{task['type']} {task['index']} on {socket.gethostname()}, TensorFlow {tf.__version__}")
    if task["type"] == "ps":
        serve(config["cluster"], task["index"])
    # MultiWorkerMirroredStrategy makes no progress while TF_CONFIG lists parameter servers.
    config.get("cluster", {}).pop("ps", None)
    os.environ["TF_CONFIG"] = json.dumps(config)
    train(options)


def serve(cluster: dict[str, list[str]], index: int) -> None:
    """The life of a parameter server."""
    server = tf.distribute.Server(tf.train.ClusterSpec(cluster), job_name="ps", task_index=index)
    training.say(f"serves at {cluster['ps'][index]}, and does not end by itself")
    server.join()


def train(options: argparse.Namespace) -> None:
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    count = strategy.num_replicas_in_sync
    training.say(f"{count} replicas in sync; the sum of a one from each is {sum_of_ones(strategy)}")

    seen, unseen = digits.parted()
    weights = fresh_weights(strategy)
    step = training_step(strategy, weights, options.learning_rate)
    for number, batch in enumerate(batches(strategy, seen, options), start=1):
        loss = step(batch)
        if number == 1 or number % training.OFTEN == 0:
            training.say(f"Step {number}: loss {float(loss):.4f}")
    read = tf.argmax(scores(weights, tf.constant(unseen.pixels, tf.float32)), axis=1).numpy()
    right = (read == unseen.labels).mean()
    training.say(f"Trained {options.steps} steps with {count} replicas; accuracy {right:.4f} on digits kept back")


def sum_of_ones(strategy: Any) -> int:
    @tf.function
    def total() -> Any:
        return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(lambda: tf.constant(1.0)), axis=None)

    return int(total())


def batches(strategy: Any, data: digits.Digits, options: argparse.Namespace) -> Any:
    """Batches of which every worker gets its share."""
    samples = tf.data.Dataset.from_tensor_slices((data.pixels.astype("float32"), data.labels))
    chosen = tf.data.Options()
    chosen.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    shuffled = samples.shuffle(len(data.labels), seed=0).repeat().batch(options.batch_size).take(options.steps)
    return strategy.experimental_distribute_dataset(shuffled.with_options(chosen))


def fresh_weights(strategy: Any) -> list[Any]:
    """Two layers: weights and biases. An update on any replica becomes the mean of the updates on all."""
    mean = tf.VariableAggregation.MEAN
    with strategy.scope():
        return [
            tf.Variable(tf.random.stateless_normal(shape, seed=(0, number), stddev=1 / 8), aggregation=mean)
            for number, shape in enumerate([(64, 64), (64,), (64, 10), (10,)])
        ]


def scores(weights: list[Any], pixels: Any) -> Any:
    hidden, hidden_bias, digit, digit_bias = weights
    return tf.nn.relu(pixels @ hidden + hidden_bias) @ digit + digit_bias


def training_step(strategy: Any, weights: list[Any], rate: float) -> Any:
    """A function that trains one batch on all replicas together and returns the mean loss."""

    def on_replica(pixels: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, scores(weights, pixels))
            loss = tf.reduce_mean(losses)
        for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(rate * gradient)
        return loss

    @tf.function
    def step(batch: Any) -> Any:
        return strategy.reduce(tf.distribute.ReduceOp.MEAN, strategy.run(on_replica, args=batch), axis=None)

    return step


if __name__ == "__main__":
    main()
