# SPDX-License-Identifier: Apache-2.0
"""The validating webhook: its server, its responses, its certificate."""
