# SPDX-License-Identifier: Apache-2.0
"""Forwarding of connections and datagrams from service addresses to endpoints."""
