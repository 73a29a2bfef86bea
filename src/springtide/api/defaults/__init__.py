# SPDX-License-Identifier: Apache-2.0
"""Converts a raw object to a `Job` with all defaults applied. A module per kind, and `shared`."""
