# SPDX-License-Identifier: Apache-2.0
"""API server behaviour per built-in kind, beyond its schema: defaults, validation, columns. Pure."""
