# SPDX-License-Identifier: Apache-2.0
"""Who is calling and what may they do: certificates, tokens, authentication, RBAC and its bootstrap objects.

The API server asks this room before it does anything else. Nothing here serves HTTP or writes objects; the files of
the data directory (keys, certificates, kubeconfig) are the only I/O.
"""
