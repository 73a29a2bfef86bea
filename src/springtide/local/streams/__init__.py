# SPDX-License-Identifier: Apache-2.0
"""Upgraded connections, and the API server's connections to nodes: SPDY, WebSocket, the kubelet's paths."""
