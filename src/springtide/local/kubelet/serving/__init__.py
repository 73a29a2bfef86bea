# SPDX-License-Identifier: Apache-2.0
"""What a node serves: the kubelet's own HTTPS paths, asked by the API server alone."""
