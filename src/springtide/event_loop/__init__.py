# SPDX-License-Identifier: Apache-2.0
"""Keeps long work from blocking the event loop: in slices on the loop (`slices`), or in threads (`long_work`)."""
