# SPDX-License-Identifier: Apache-2.0
"""Protobuf request bodies to plain objects. Answers are always JSON."""
