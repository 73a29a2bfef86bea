# SPDX-License-Identifier: Apache-2.0
"""The pods' own network: a holder with bridge, names and service addresses, and the table that feeds it."""
