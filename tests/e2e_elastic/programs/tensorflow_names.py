# SPDX-License-Identifier: Apache-2.0
"""Horovod's names for TensorFlow among several ranks, or one: whatever is not as it should be ends it with an error."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf

import springtide.elastic.horovod.tensorflow as hvd
import springtide.elastic.horovod.tensorflow.keras as hvd_keras

hvd.init()
hvd.barrier()
RANK, SIZE = hvd.rank(), hvd.size()
MEAN = sum(range(SIZE)) / SIZE


def reductions() -> None:
    mine = tf.fill((3, 2), float(RANK))
    for dtype in (tf.float32, tf.float64, tf.float16, tf.bfloat16):
        found = hvd.allreduce(tf.cast(mine, dtype))
        assert found.dtype == dtype
        assert np.allclose(tf.cast(found, tf.float32), MEAN, atol=0.01)
    assert np.allclose(hvd.allreduce(mine, op=hvd.Sum), SIZE * MEAN)
    assert np.allclose(hvd.allreduce(mine, compression=hvd.Compression.fp16), MEAN, atol=0.01)
    assert hvd.allreduce(tf.constant([RANK + 1]), op=hvd.Sum).numpy().tolist() == [sum(range(SIZE + 1))]
    assert hvd.allreduce(tf.constant([2**60 + 1], tf.int64)).numpy().tolist() == [2**60 + 1]
    assert np.allclose(
        hvd.allreduce(tf.constant([1 + 2j]), None, "", "", hvd.Compression.none, hvd.Sum), SIZE * (1 + 2j)
    )

    @tf.function
    def traced(value: Any) -> Any:
        return hvd.allreduce(value, op=hvd.Sum), hvd.allgather(value), hvd.broadcast(value, SIZE - 1)

    total, whole, last = traced(tf.constant([float(RANK)]))
    assert total.numpy() == [SIZE * MEAN]
    assert whole.numpy().tolist() == list(range(SIZE))
    assert last.numpy() == [SIZE - 1]
    try:
        hvd.allreduce(mine, op=hvd.Adasum)
    except NotImplementedError as error:
        assert "Adasum is not offered" in str(error)
    else:
        raise AssertionError("Adasum is not refused")


def exchanges() -> None:
    gathered = hvd.allgather(tf.fill((RANK + 1, 2), RANK))
    assert gathered.numpy()[:, 0].tolist() == [rank for rank in range(SIZE) for _ in range(rank + 1)]
    assert hvd.broadcast(tf.constant(["a" * (RANK + 1)]), SIZE - 1).numpy().tolist() == [b"a" * SIZE]
    own, all_ = tf.ones([RANK + 1]), float(sum(range(SIZE + 1)))

    @tf.function
    def gradients() -> Any:
        with tf.GradientTape() as tape:
            tape.watch(own)
            loss = tf.reduce_sum(hvd.allgather(own) * float(RANK + 1))
        return tape.gradient(loss, own)

    assert gradients().numpy().tolist() == [all_] * (RANK + 1), "what is gathered is differentiable"
    with tf.GradientTape() as tape:
        mine = tf.Variable([1.0])
        loss = tf.reduce_sum(hvd.broadcast(mine, SIZE - 1) * float(RANK + 1))
    assert tape.gradient(loss, mine).numpy().tolist() == [all_ if RANK == SIZE - 1 else 0.0]
    assert hvd.broadcast_object({"rank": RANK}, SIZE - 1) == {"rank": SIZE - 1}
    assert hvd_keras.allreduce(float(RANK)) == MEAN
    assert hvd_keras.broadcast(RANK, SIZE - 1) == SIZE - 1
    variables = [tf.Variable(float(RANK)), tf.Variable([RANK, RANK])]
    hvd.broadcast_variables(variables, root_rank=SIZE - 1)
    assert variables[0].numpy() == SIZE - 1
    assert variables[1].numpy().tolist() == [SIZE - 1] * 2


def tapes() -> None:
    weight, table = tf.Variable([1.0, 2.0]), tf.Variable(tf.ones((8, 2)))

    @tf.function
    def gradients() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(weight * RANK) + tf.reduce_sum(tf.gather(table, [RANK, 7]))
        tape = hvd.DistributedGradientTape(tape)
        return tape.gradient(loss, {"weight": weight, "table": table})

    found = gradients()
    assert np.allclose(found["weight"], MEAN)
    expected = np.zeros((8, 2))
    expected[:SIZE] += 1 / SIZE
    expected[7] += 1
    assert np.allclose(tf.convert_to_tensor(found["table"]), expected)


def fits() -> None:
    keras.utils.set_random_seed(RANK)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
    optimizer = hvd_keras.DistributedOptimizer(keras.optimizers.SGD(0.1 * SIZE, momentum=0.9))
    assert isinstance(optimizer, keras.optimizers.SGD)
    model.compile(optimizer=optimizer, loss="mse", jit_compile=True)
    assert not model.jit_compile, "XLA refuses what leaves the graph"
    rates: list[float] = []

    class Watching(keras.callbacks.Callback):
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            rates.append(logs["lr"])
            metrics.append(logs["loss"])

    metrics: list[float] = []
    callbacks = [
        hvd_keras.callbacks.BroadcastGlobalVariablesCallback(0),
        hvd_keras.callbacks.LearningRateWarmupCallback(0.1 * SIZE, warmup_epochs=3),
        hvd_keras.callbacks.MetricAverageCallback(),
        Watching(),
    ]
    data = np.random.default_rng(RANK).random((64, 4), dtype=np.float32)
    model.fit(data, data.sum(1), batch_size=16, epochs=4, callbacks=callbacks, verbose=0)
    weights = hvd.allgather(tf.concat([tf.reshape(each, (1, -1)) for each in model.get_weights()], 1)).numpy()
    assert np.allclose(weights, weights[0], atol=1e-6)
    assert np.allclose(rates[-1], 0.1 * SIZE)
    assert rates == sorted(rates)
    assert len(set(hvd.allgather_object(tuple(np.array(metrics, dtype=np.float32).tolist())))) == 1
    assert model.optimizer.momentum == 0.9
    model.optimizer.lr.assign(0.5)
    assert float(model.optimizer.learning_rate) == 0.5


def schedules() -> None:
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile(optimizer=hvd_keras.DistributedOptimizer(keras.optimizers.SGD(1.0)), loss="mse")
    rates: list[float] = []
    watching = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: rates.append(logs["lr"]))
    schedule = hvd_keras.callbacks.LearningRateScheduleCallback(1.0, 0.5, start_epoch=1, end_epoch=3)
    model.fit(np.zeros((4, 1)), np.zeros(4), epochs=4, callbacks=[schedule, watching], verbose=0)
    assert rates == [1.0, 1.0, 0.5, 0.5], rates


def states() -> None:
    model = keras.Sequential([keras.layers.Dense(1)])
    try:
        hvd.elastic.TensorFlowKerasState(model, keras.optimizers.Adam())
    except ValueError as error:
        assert "must be built first" in str(error)
    else:
        raise AssertionError("a model that is not built is taken")
    model.build((None, 2))
    state = hvd_keras.elastic.KerasState(model, keras.optimizers.Adam(), epoch=0)
    before = model.get_weights()
    state.save()
    model.set_weights([each + 1 for each in before])
    state.epoch = 3
    state.restore()
    assert np.allclose(model.get_weights()[0], before[0])
    assert state.epoch == 0


for check in (reductions, exchanges, tapes, fits, schedules, states):
    check()
print(f"rank {RANK} of {SIZE}: all is well", flush=True)
