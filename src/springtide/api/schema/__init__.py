# SPDX-License-Identifier: Apache-2.0
"""CustomResourceDefinitions, made from the typed kinds so that neither can drift from the other."""
