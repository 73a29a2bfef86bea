# SPDX-License-Identifier: Apache-2.0
"""Volumes and claims: binding and protection."""
