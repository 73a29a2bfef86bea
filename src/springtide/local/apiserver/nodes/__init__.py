# SPDX-License-Identifier: Apache-2.0
"""Requests that end at nodes: streams, logs, proxies, metrics."""
