# SPDX-License-Identifier: Apache-2.0
"""Decoding of protobuf request bodies to plain objects. Responses are always JSON."""
