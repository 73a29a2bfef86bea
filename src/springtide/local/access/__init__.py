# SPDX-License-Identifier: Apache-2.0
"""Authentication and authorisation: certificates, tokens, RBAC and its bootstrap objects.

The API server uses this package before everything else in a request. It serves no HTTP and writes no objects; the files
of the data directory (keys, certificates, kubeconfig) are the only I/O.
"""
