# SPDX-License-Identifier: Apache-2.0
"""`import springtide.elastic.horovod.tensorflow as hvd`: Horovod's names for TensorFlow 2 and Keras 3."""

from __future__ import annotations

from typing import NoReturn

from springtide.elastic.horovod import absent
from springtide.elastic.horovod.objects import *
from springtide.elastic.horovod.reduction import *
from springtide.elastic.horovod.states import HorovodInternalError as HorovodInternalError
from springtide.elastic.horovod.tensorflow import elastic as elastic
from springtide.elastic.horovod.tensorflow.compression import Compression as Compression
from springtide.elastic.horovod.tensorflow.optimizer import DistributedOptimizer as DistributedOptimizer
from springtide.elastic.horovod.tensorflow.optimizer import alias_learning_rate
from springtide.elastic.horovod.tensorflow.tape import DistributedGradientTape as DistributedGradientTape
from springtide.elastic.horovod.tensorflow.tensors import *
from springtide.elastic.horovod.world import *

alias_learning_rate()


def __getattr__(name: str) -> NoReturn:
    absent.refuse(__name__, name)
