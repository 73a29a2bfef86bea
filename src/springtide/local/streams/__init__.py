# SPDX-License-Identifier: Apache-2.0
"""Upgraded connections and the seam to nodes: SPDY, WebSocket, the kubelet's paths."""
