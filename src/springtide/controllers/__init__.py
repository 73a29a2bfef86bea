# SPDX-License-Identifier: Apache-2.0
"""The operator: reconciles training jobs on any cluster with a Kubernetes API."""
