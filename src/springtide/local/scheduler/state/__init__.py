# SPDX-License-Identifier: Apache-2.0
"""The scheduler's state: nodes, pods, volumes, and decisions that the watches do not show yet."""
