# SPDX-License-Identifier: Apache-2.0
"""What is shown of jobs, pods and nodes: pure functions from objects to values, for every program that shows them."""
