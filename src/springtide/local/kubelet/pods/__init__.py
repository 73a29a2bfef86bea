# SPDX-License-Identifier: Apache-2.0
"""The pods of this node: their observed state, the plan for each, and its execution."""
