# SPDX-License-Identifier: Apache-2.0
"""Validates raw objects: returns their field errors. A module per kind, and `shared`.

Runs at admission if there is a webhook, and at every reconcile: CRDs from other sources accept more than ours. Defaults
are taken into account, so a missing field is an error only if it has no default.
"""
