# SPDX-License-Identifier: Apache-2.0
"""HTTP API server of the embedded cluster."""
