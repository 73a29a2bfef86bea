# SPDX-License-Identifier: Apache-2.0
"""Pure: what is observed of a job ──► the plan of what to do about it. No clock, no network, no chance.

observed ──► engine.plan ──► actions     one engine for all kinds, plans are data
                │
                ├─ workers, fixed, resizing, moving, launching        which pods there are
                ├─ policies/…, finishing                              a module per policy of the API; how a job ends
                ├─ launchers/…                                        a launcher as a pod, as a batch Job, or none
                ├─ conditions, state, status, decisions               what people are told
                └─ kinds/…                                            adapters: roles, wiring, pods, sizes
                     └─ parts/…                                       what kinds put jobs together from

`kind` is what the engine asks of a kind, `served` what the operator knows of one, `registry` the kinds there are.
"""
