# SPDX-License-Identifier: Apache-2.0
"""Keeps long work from blocking the event loop: in slices on the loop (`slices`), in threads (`long_work`), or rarely
(`garbage_collection`)."""
