# SPDX-License-Identifier: Apache-2.0
"""The steps of a write: admission, defaults, addresses, quota, deletion."""
