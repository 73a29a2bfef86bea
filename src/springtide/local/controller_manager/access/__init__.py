# SPDX-License-Identifier: Apache-2.0
"""What namespaces need for access: service accounts, the root CA, aggregated roles."""
