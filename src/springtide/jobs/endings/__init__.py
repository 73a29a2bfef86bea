# SPDX-License-Identifier: Apache-2.0
"""How a job ends, and why its pods ended."""
