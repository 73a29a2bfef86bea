# SPDX-License-Identifier: Apache-2.0
"""Pure: what is observed of a job ──► the plan of what to do about it. No clock, no network, no chance.

observed ──► engine.plan ──► actions     one engine for all kinds, plans are data
                │
                ├─ workers, fixed, resizing, moving, launching,
                │  finishing, gangs, claims                           one policy each
                ├─ conditions, state, decisions                       what people are told
                └─ kinds/…                                            adapters: roles, wiring, pods, bounds
"""
