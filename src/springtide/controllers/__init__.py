# SPDX-License-Identifier: Apache-2.0
"""The operator: what keeps training jobs as their objects want them, on any cluster with a Kubernetes API."""
