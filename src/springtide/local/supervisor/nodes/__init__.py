# SPDX-License-Identifier: Apache-2.0
"""The nodes of this machine: their objects and their agents."""
