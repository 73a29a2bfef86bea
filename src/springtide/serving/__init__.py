# SPDX-License-Identifier: Apache-2.0
"""Bounded HTTP servers: the limits of every listening process before a request reaches its handler.

`framing` finds the end of a request's head and body, `slots` limits connections and bytes of heads, `connections`
applies both to one connection, `listening` accepts connections.
"""
