# SPDX-License-Identifier: Apache-2.0
"""The same for Horovod Elastic, with the state it has for Keras: its `TensorFlowState` blocks when somebody joins."""

from __future__ import annotations

import horovod.tensorflow as hvd  # type: ignore[import-not-found,unused-ignore]
import steps
import tensorflow as tf  # type: ignore[import-not-found,unused-ignore]

diary = steps.Diary()


class Model(tf.keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.parts = [
            self.add_weight(name=f"part{number}", shape=(count,), initializer="ones")
            for number, count in enumerate(steps.arrays())
        ]
        self.built = True


@hvd.elastic.run
def train(state: hvd.elastic.TensorFlowKerasState) -> None:
    few = tf.zeros(1000)
    while True:
        steps.work()
        hvd.allreduce(few, name="few")
        state.step += 1
        diary.note(hvd.rank(), hvd.size(), state.step)
        if state.step % steps.COMMIT:
            state.check_host_updates()
        else:
            state.commit()


hvd.init()
train(hvd.elastic.TensorFlowKerasState(Model(), tf.keras.optimizers.legacy.SGD(0.05), step=0))
