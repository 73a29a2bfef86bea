# SPDX-License-Identifier: Apache-2.0
"""CustomResourceDefinitions, generated from the typed kinds so that the two cannot differ."""
