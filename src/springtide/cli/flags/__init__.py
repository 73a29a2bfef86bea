# SPDX-License-Identifier: Apache-2.0
"""Arena's flags, which `arena submit` and `tide submit` share: their tables, their syntax, and what they ask for."""
