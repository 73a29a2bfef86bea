# SPDX-License-Identifier: Apache-2.0
"""Pods and their parts: containers, volumes, scheduling, security."""
