# SPDX-License-Identifier: Apache-2.0
"""From a raw object to a `Job` with every default decided. A module per kind, and `shared` for what they share."""
