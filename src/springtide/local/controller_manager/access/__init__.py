# SPDX-License-Identifier: Apache-2.0
"""Access in namespaces: service accounts, the root CA, aggregated roles."""
