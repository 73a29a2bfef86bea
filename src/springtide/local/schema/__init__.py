# SPDX-License-Identifier: Apache-2.0
"""Schemas of objects: decoding, pruning, defaulting, validation.

`builtin` has the schemas of built-in kinds, `decode` reads their bodies; `crd_rules` validates the schemas of a CRD and
`compiled.CompiledSchema` handles custom objects. Both become the graph in `node`, on which patches and server-side
apply build. The package is pure: it uses no clock, store or network.
"""
