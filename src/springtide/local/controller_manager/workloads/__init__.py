# SPDX-License-Identifier: Apache-2.0
"""ReplicaSets, Deployments and disruption budgets."""
