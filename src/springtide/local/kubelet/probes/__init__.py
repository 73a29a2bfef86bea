# SPDX-License-Identifier: Apache-2.0
"""Probes: asking running containers how they are, and what follows from several answers in a row."""
