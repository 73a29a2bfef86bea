# SPDX-License-Identifier: Apache-2.0
"""Probes: checking the health of running containers, and the verdict after several results in a row."""
