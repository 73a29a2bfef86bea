# SPDX-License-Identifier: Apache-2.0
"""Requests that are forwarded to nodes: streams, logs, proxies, metrics."""
