# SPDX-License-Identifier: Apache-2.0
"""Bounded HTTP servers: what every listening process here does before a request reaches its handler.

`framing` decides where a request's head and body end, `slots` how many connections and how many bytes of heads there
may be, `connections` applies both to one connection, `listening` accepts connections.
"""
