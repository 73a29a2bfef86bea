# SPDX-License-Identifier: Apache-2.0
"""Endpoints, endpoint slices and the kubernetes service."""
