# SPDX-License-Identifier: Apache-2.0
"""What the API server must know of each built-in kind beyond its schema: defaults, rules, columns. Pure."""
