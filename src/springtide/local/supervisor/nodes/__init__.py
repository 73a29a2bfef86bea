# SPDX-License-Identifier: Apache-2.0
"""The nodes of this machine: which there are to be, their objects, their agents."""
