# SPDX-License-Identifier: Apache-2.0
"""The scheduler: filters, scores, preemption, gangs, and the reasons why a pod is pending.

views ─► pods, nodes, storage ─► snapshot      the observed state (pure)
snapshot ─► filters ─► scores ─► placing       one pod (pure)
          └► preemption, gangs                 victims; all-or-nothing (pure)
ledger                                         the observed state plus recent decisions
scheduler ─► writer                            the loop, and all writes
"""
