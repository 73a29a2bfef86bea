# SPDX-License-Identifier: Apache-2.0
"""The front door: the tide command."""
