# SPDX-License-Identifier: Apache-2.0
"""The shape of objects, and what follows from it: decoding, pruning, defaulting, validation.

`builtin` gives the shapes of built-in kinds, `decode` reads their bodies; `crd_rules` judges the schemas of a CRD and
`compiled.CompiledSchema` works on custom objects. `node` is the one shape both become, which patches and server-side
apply build on. Everything is pure: bytes, clocks and stores are for others.
"""
