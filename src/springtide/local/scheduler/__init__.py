# SPDX-License-Identifier: Apache-2.0
"""Which pod goes to which node: filters, scores, preemption, gangs, and why a pod still waits.

views ─► pods, nodes, storage ─► snapshot      what is (pure)
snapshot ─► filters ─► scores ─► placing       one pod (pure)
          └► preemption, gangs                 victims; all-or-nothing (pure)
ledger                                         what is, and what was decided a moment ago
scheduler ─► deeds                             the loop, and everything it writes
"""
