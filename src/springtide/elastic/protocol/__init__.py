# SPDX-License-Identifier: Apache-2.0
"""The messages between launcher, agents and ranks.

    agent_messages    between the launcher and an agent
    rank_messages     between the launcher and a rank, and among ranks
    codec             converts between message dataclasses and frames
    wire              frames of JSON and bytes, and the authentication of connections
    tokens            the line by which an agent announces its token

This package makes no decisions.
"""
