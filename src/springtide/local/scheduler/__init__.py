# SPDX-License-Identifier: Apache-2.0
"""Which pod goes to which node: filters, scores, preemption, gangs, and why a pod still waits."""
