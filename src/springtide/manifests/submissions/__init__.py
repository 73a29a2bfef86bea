# SPDX-License-Identifier: Apache-2.0
"""What a user asks for: the flags of every type, parsed and checked."""
