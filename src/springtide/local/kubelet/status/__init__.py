# SPDX-License-Identifier: Apache-2.0
"""The status of a pod as the kubelet writes it: phase, conditions, containers."""
