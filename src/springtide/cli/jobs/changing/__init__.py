# SPDX-License-Identifier: Apache-2.0
"""Requests that create, change and delete jobs."""
