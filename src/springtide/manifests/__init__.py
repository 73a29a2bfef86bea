# SPDX-License-Identifier: Apache-2.0
"""Manifests from what a user asked for, as `arena submit` writes them: pure functions from submissions to objects."""
