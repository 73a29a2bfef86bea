# SPDX-License-Identifier: Apache-2.0
"""The node agent: pods bound to its node become shims and containers, and their state goes back to the API."""
