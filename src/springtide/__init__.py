# SPDX-License-Identifier: Apache-2.0
"""Springtide: elastic distributed training."""

__version__ = "0.1.0.dev0"

KUBERNETES_VERSION = "v1.36.3"
"""The release whose behaviour the embedded API server follows."""
HOROVOD_VERSION = "0.28.1"
"""The version of Horovod whose names `springtide.elastic.horovod` has."""
