# SPDX-License-Identifier: Apache-2.0
"""Elastic `model.fit` in the shape of Horovod's tensorflow2_keras_mnist_elastic.py, its warm-up steps included."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

import springtide.elastic.horovod.tensorflow.keras as hvd

hvd.init()
EPOCHS, STEPS, PAUSE = int(sys.argv[1]), 60, Path(sys.argv[2])
random = np.random.default_rng(7)
patterns = random.random((10, 16), dtype=np.float32)
digits = random.integers(0, 10, 2048)
images = patterns[digits] + random.normal(0.0, 0.2, (2048, 16)).astype(np.float32)
dataset = tf.data.Dataset.from_tensor_slices((images, digits)).repeat().shuffle(500).batch(32)

model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(10, activation="softmax")])
scaled_lr = 0.01 * hvd.size()
opt = hvd.DistributedOptimizer(keras.optimizers.SGD(scaled_lr, momentum=0.9))
model.compile(loss="sparse_categorical_crossentropy", optimizer=opt, metrics=["accuracy"])
model.fit(dataset, steps_per_epoch=1, epochs=1, verbose=0)


def on_state_reset() -> None:
    tf.keras.backend.set_value(model.optimizer.lr, 0.01 * hvd.size())
    model.fit(dataset, steps_per_epoch=1, epochs=1, verbose=0)  # in Horovod newcomers do the same at this moment


class Speaking(keras.callbacks.Callback):
    def on_train_batch_end(self, batch: int, logs: dict[str, float] | None = None) -> None:
        state.step += 1
        time.sleep(float(PAUSE.read_text()))
        if state.step % 10 == 0:
            weights = hvd.allgather(np.array([sum(float(w.sum()) for w in model.get_weights())]))
            same = np.allclose(weights, weights[0])
            if hvd.rank() == 0:
                rate = float(model.optimizer.learning_rate)
                print(f"step {state.step} epoch {state.epoch} size {hvd.size()} lr {rate:g} same {same}", flush=True)

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        if hvd.rank() == 0:
            print(f"epoch {epoch} accuracy {(logs or {})['accuracy']:.3f}", flush=True)


state = hvd.elastic.KerasState(model, batch=0, epoch=0, step=0)
state.register_reset_callbacks([on_state_reset])


@hvd.elastic.run
def train(state: hvd.elastic.KerasState) -> None:
    print(f"rank {hvd.rank()} of {hvd.size()} trains from step {state.step} pid {os.getpid()}", flush=True)
    callbacks = [
        hvd.callbacks.BroadcastGlobalVariablesCallback(0),
        hvd.callbacks.MetricAverageCallback(),
        Speaking(),
        hvd.elastic.UpdateBatchStateCallback(state),
        hvd.elastic.UpdateEpochStateCallback(state),
        hvd.elastic.CommitStateCallback(state, batches_per_commit=5),
    ]
    model.fit(dataset, steps_per_epoch=STEPS, epochs=EPOCHS - state.epoch, callbacks=callbacks, verbose=0)


train(state)
if hvd.rank() == 0:
    print(f"done after {state.step} steps", flush=True)
