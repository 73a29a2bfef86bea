# SPDX-License-Identifier: Apache-2.0
"""Pods of this node: what is observed, the plan, and what carries it out."""
