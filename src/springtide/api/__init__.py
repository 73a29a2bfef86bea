# SPDX-License-Identifier: Apache-2.0
"""Pure data: job kinds, their defaults, rules, bounds and CRDs; quantities and field errors. No clock, no network.

kinds ──► schema                     typed kinds as users write them ──► CustomResourceDefinitions
raw object ──► validation            what is wrong with it, field by field
raw object ──► defaults ──► job      every default decided: what the engine reads, of any kind and version
job ──► bounds                       within which sizes it may run
"""
