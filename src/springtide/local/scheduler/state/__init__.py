# SPDX-License-Identifier: Apache-2.0
"""What the scheduler knows: nodes, pods, volumes, and what was decided but is not yet seen."""
