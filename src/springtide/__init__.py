# SPDX-License-Identifier: Apache-2.0
"""Springtide: elastic distributed training."""

__version__ = "0.1.0.dev0"
