# SPDX-License-Identifier: Apache-2.0
"""Volumes and claims: binding, provisioning and protection."""
