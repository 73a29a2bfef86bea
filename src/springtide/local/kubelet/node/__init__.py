# SPDX-License-Identifier: Apache-2.0
"""The node itself: registration, heartbeat, metrics, pod addresses, one agent at a time."""
