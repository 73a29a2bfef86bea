# SPDX-License-Identifier: Apache-2.0
"""`import springtide.elastic.horovod.torch as hvd`: Horovod's names for PyTorch."""

from __future__ import annotations

from typing import NoReturn

from springtide.elastic.horovod import absent
from springtide.elastic.horovod.objects import *
from springtide.elastic.horovod.reduction import *
from springtide.elastic.horovod.states import HorovodInternalError as HorovodInternalError
from springtide.elastic.horovod.torch import elastic as elastic
from springtide.elastic.horovod.torch.compression import Compression as Compression
from springtide.elastic.horovod.torch.optimizer import DistributedOptimizer as DistributedOptimizer
from springtide.elastic.horovod.torch.tensors import *
from springtide.elastic.horovod.world import *


def __getattr__(name: str) -> NoReturn:
    absent.refuse(__name__, name)
