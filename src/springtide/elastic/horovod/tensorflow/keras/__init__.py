# SPDX-License-Identifier: Apache-2.0
"""`import springtide.elastic.horovod.tensorflow.keras as hvd`: Horovod's names for `model.fit`."""

from __future__ import annotations

from springtide.elastic.horovod.objects import *
from springtide.elastic.horovod.reduction import *
from springtide.elastic.horovod.states import HorovodInternalError as HorovodInternalError
from springtide.elastic.horovod.tensorflow.compression import Compression as Compression
from springtide.elastic.horovod.tensorflow.keras import callbacks as callbacks
from springtide.elastic.horovod.tensorflow.keras import elastic as elastic
from springtide.elastic.horovod.tensorflow.keras.values import *
from springtide.elastic.horovod.tensorflow.optimizer import DistributedOptimizer as DistributedOptimizer
from springtide.elastic.horovod.world import *
