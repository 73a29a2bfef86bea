# SPDX-License-Identifier: Apache-2.0
"""What launcher, agents and ranks send each other."""
