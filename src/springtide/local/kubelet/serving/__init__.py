# SPDX-License-Identifier: Apache-2.0
"""The node's server: kubelet's HTTPS paths, for the API server only."""
