# SPDX-License-Identifier: Apache-2.0
"""The node itself: registration, heartbeat, metrics, pod addresses, the lock of its only agent."""
