# SPDX-License-Identifier: Apache-2.0
"""The embedded cluster's controllers, which use only the Kubernetes API."""
