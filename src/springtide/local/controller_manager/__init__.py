# SPDX-License-Identifier: Apache-2.0
"""The embedded cluster's controllers. They know nothing but the Kubernetes API."""
