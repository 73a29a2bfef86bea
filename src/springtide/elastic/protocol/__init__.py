# SPDX-License-Identifier: Apache-2.0
"""What launcher, agents and ranks send each other.

    wire              proof that a connection belongs to a run, and frames of JSON and bytes
    tokens            the line by which an agent announces its token

Nothing here decides anything.
"""
