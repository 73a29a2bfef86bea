# SPDX-License-Identifier: Apache-2.0
"""Connections and datagrams to service addresses, carried on to endpoints."""
