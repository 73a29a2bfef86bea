# SPDX-License-Identifier: Apache-2.0
"""The node agent: runs the pods bound to its node as shims and containers, and reports their state to the API."""
