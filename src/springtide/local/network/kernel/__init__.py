# SPDX-License-Identifier: Apache-2.0
"""Namespaces, links, addresses and address translation, by system calls and netlink."""
