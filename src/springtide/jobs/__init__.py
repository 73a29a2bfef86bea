# SPDX-License-Identifier: Apache-2.0
"""Pure: turns what is observed of a job into a plan of actions. No clock, no network, no randomness.

observed ──► engine.plan ──► actions     one engine for all kinds, plans are data
                │
                ├─ replicas/…, projected         which pods exist: workers, indexed roles, resizing, moving off nodes
                ├─ policies/…, endings/…         a module per policy of the API; how a job ends
                ├─ launchers/…                   a launcher as a pod, as a batch Job, or none
                ├─ reporting/…                   conditions, state, status, decision log
                └─ kinds/…                       adapters: roles, wiring, pods, sizes
                     └─ parts/…                  building blocks shared by kinds

`kind` is the interface between the engine and a kind, `served` describes a kind to the operator, `registry` lists the
kinds.
"""
