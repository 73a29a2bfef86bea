# SPDX-License-Identifier: Apache-2.0
"""What launcher, agents and ranks send each other.

    agent_messages    between the launcher and an agent
    rank_messages     between the launcher and a rank, and among ranks
    codec             messages as dataclasses to frames, and back: the only place that does
    wire              frames of JSON and bytes, and the proof that a connection belongs to a run
    tokens            the line by which an agent announces its token

Nothing here decides anything.
"""
