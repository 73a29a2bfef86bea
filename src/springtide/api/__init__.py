# SPDX-License-Identifier: Apache-2.0
"""Pure data: job kinds, their defaults, rules, bounds and CRDs; quantities and field errors. No clock, no network.

kinds ──► schema                     typed kinds as users write them ──► CustomResourceDefinitions
raw object ──► validation            its errors, by field
raw object ──► defaults ──► job      all defaults applied: the engine's input, for any kind and version
job ──► bounds                       the sizes that it may have
"""
