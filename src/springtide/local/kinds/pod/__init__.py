# SPDX-License-Identifier: Apache-2.0
"""Pods and what they are made of: containers, volumes, scheduling, security."""
