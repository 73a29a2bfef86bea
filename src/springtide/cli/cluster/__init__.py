# SPDX-License-Identifier: Apache-2.0
"""Commands about a whole cluster: up, down, delete, status, kubeconfig."""
